"""An agent on PyPI strands-agents 1.62.0, made one of A2A by its `A2AServer`; a function stands in for its model."""

from listening import port, serve
from strands import Agent
from strands.models import Model
from strands.multiagent.a2a import A2AServer


class Echo(Model):
    def get_config(self):
        return {}

    def update_config(self, **config):
        pass

    async def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        text = f"You said: {messages[-1]['content'][-1]['text']}"
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for piece in text.partition(": "):
            yield {"contentBlockDelta": {"delta": {"text": piece}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent(_context):
    return Agent(name="strands", description="answers", model=Echo(), callback_handler=None)


listener, address = port()
server = A2AServer(agent_factory=agent, host="127.0.0.1", port=listener.getsockname()[1])
serve(server.to_starlette_app(), listener, address)
