"""An agent on PyPI google-adk 2.13.0, made one of A2A by its `to_a2a`; a function stands in for its model."""

from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types
from listening import port, serve


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        heard = [content for content in llm_request.contents if content.role == "user"]
        text = f"You said: {heard[-1].parts[-1].text}"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


listener, address = port()
agent = Agent(name="google_adk", description="answers", instruction="Say it again.", model=Echo())
serve(to_a2a(agent, host="127.0.0.1", port=listener.getsockname()[1]), listener, address)
