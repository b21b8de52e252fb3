"""An agent on PyPI agent-framework-a2a 1.0.0b261022, made one of A2A as its documentation has it: the card's interface
says no version. A function stands in for its model."""

from agent_framework import AgentResponse, AgentResponseUpdate, BaseAgent, Content, Message, ResponseStream
from agent_framework_a2a import A2AExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from listening import port, serve
from starlette.applications import Starlette


class Echo(BaseAgent):
    def run(self, messages=None, *, stream=False, session=None, **kwargs):
        heard = messages if isinstance(messages, list) else [messages]
        text = f"You said: {getattr(heard[-1], 'text', heard[-1])}"

        async def pieces():
            for piece in text.partition(": "):
                yield AgentResponseUpdate(contents=[Content.from_text(piece)], role="assistant", message_id="m")

        async def whole():
            return AgentResponse(messages=[Message("assistant", [text])])

        return ResponseStream(pieces(), finalizer=AgentResponse.from_updates) if stream else whole()


listener, address = port()
card = AgentCard(
    name="Microsoft Agent Framework",
    description="answers",
    version="1.0.0",
    default_input_modes=["text"],
    default_output_modes=["text"],
    capabilities=AgentCapabilities(streaming=True),
    supported_interfaces=[AgentInterface(url=f"{address}/", protocol_binding="JSONRPC")],
    skills=[],
)
handler = DefaultRequestHandler(
    agent_executor=A2AExecutor(Echo(name="echo"), stream=True),
    task_store=InMemoryTaskStore(),
    agent_card=card,
)
serve(Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]), listener, address)
