"""An agent on PyPI agno 3.1.10, served over A2A by its `AgentOS`; a class stands in for its model."""

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from listening import port, serve


class Echo(Model):
    def invoke(self, messages, **_):
        said = [message.content for message in messages if message.role == "user"]
        return ModelResponse(role="assistant", content=f"You said: {said[-1]}")

    async def ainvoke(self, messages, **_):
        return self.invoke(messages)

    def invoke_stream(self, messages, **_):
        for piece in self.invoke(messages).content.partition(": "):
            yield ModelResponse(role="assistant", content=piece)

    async def ainvoke_stream(self, messages, **_):
        for piece in self.invoke_stream(messages):
            yield piece

    def _parse_provider_response(self, response, **_):
        return response

    def _parse_provider_response_delta(self, response):
        return response


listener, address = port()
agent = Agent(id="agno", name="agno", description="answers", model=Echo(id="echo"), telemetry=False)
system = AgentOS(agents=[agent], a2a_interface=True, telemetry=False)
serve(system.get_app(), listener, f"{address}/a2a/agents/agno")
