"""An agent on PyPI ag2 1.2.1, made one of A2A by its `A2AServer`; a function stands in for its model."""

from ag2 import Agent
from ag2.a2a.server import A2AServer
from ag2.config import LLMClient, ModelConfig
from ag2.events import ModelMessage, ModelMessageChunk, ModelRequest, ModelResponse
from listening import port, serve


class Echo(LLMClient):
    async def __call__(self, messages, context, **_):
        heard = [message for message in messages if isinstance(message, ModelRequest)]
        text = f"You said: {heard[-1].parts[-1].content}"
        for piece in text.partition(": "):
            await context.send(ModelMessageChunk(piece))
        answer = ModelMessage(text)
        await context.send(answer)
        return ModelResponse(answer)


class Model(ModelConfig):
    def create(self):
        return Echo()

    def copy(self, /, **_):
        return self


listener, address = port()
agent = Agent("ag2", config=Model())
serve(A2AServer(agent).build_jsonrpc(url=address), listener, address)
