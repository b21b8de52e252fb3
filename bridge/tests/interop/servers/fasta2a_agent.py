"""An agent on PyPI pydantic-ai-slim 2.68.0, made one of A2A by fasta2a 2.1.1; a function stands in for its model."""

from fasta2a.pydantic_ai import agent_to_a2a
from listening import port, serve
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def echo(messages, _info):
    return ModelResponse(parts=[TextPart(f"You said: {messages[-1].parts[-1].content}")])


listener, address = port()
serve(agent_to_a2a(Agent(FunctionModel(echo)), name="fasta2a", url=address), listener, address)
