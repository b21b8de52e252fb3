"""An agent on PyPI google-adk, made one of A2A by its `to_a2a`. It tells tokens as ADK does: ten asked, five answered."""

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

import model


class Adder(BaseLlm):
    model: str = "adder"

    async def generate_content_async(self, llm_request, stream=False):
        asked = [content for content in llm_request.contents if content.role == "user"]
        said = types.Part(text=model.answer(asked[-1].parts[-1].text))
        tokens = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=10, candidates_token_count=5, total_token_count=15
        )
        yield LlmResponse(content=types.Content(role="model", parts=[said]), usage_metadata=tokens)


port = model.port()
agent = Agent(name="adk_adder", description="adds", instruction="Add the numbers.", model=Adder())
uvicorn.run(to_a2a(agent, host="127.0.0.1", port=port), host="127.0.0.1", port=port, log_level="warning")
