"""An agent on PyPI strands-agents, made one of A2A by its `A2AServer`."""

import uvicorn
from strands import Agent
from strands.models import Model
from strands.multiagent.a2a import A2AServer

import model


class Adder(Model):
    def get_config(self):
        return {}

    def update_config(self, **config):
        pass

    async def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": model.answer(messages[-1]["content"][-1]["text"])}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent(_context):
    return Agent(name="strands_adder", description="adds", model=Adder(), callback_handler=None)


port = model.port()
server = A2AServer(agent_factory=agent, host="127.0.0.1", port=port)
uvicorn.run(server.to_starlette_app(), host="127.0.0.1", port=port, log_level="warning")
