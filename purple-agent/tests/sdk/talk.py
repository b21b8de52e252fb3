"""Asks a stand-in by the vendor's own SDK, and prints what the SDK understood of its answer."""

import json
import sys

protocol, base_url, key = sys.argv[1:4]
SCHEMA = {"type": "object", "properties": {}}
SYSTEM, TOLD, LIMIT = "You help.", "begin", 100


def openai():
    from openai import OpenAI

    answer = OpenAI(api_key=key, base_url=base_url).chat.completions.create(
        model="test-model",
        max_tokens=LIMIT,
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": TOLD}],
        tools=[{"type": "function", "function": {"name": "look", "description": "Looks", "parameters": SCHEMA}}],
    )
    calls = answer.choices[0].message.tool_calls
    return [call.function.name for call in calls], answer.usage.total_tokens


def responses():
    from openai import OpenAI

    answer = OpenAI(api_key=key, base_url=base_url).responses.create(
        model="test-model",
        max_output_tokens=LIMIT,
        instructions=SYSTEM,
        input=[{"role": "user", "content": TOLD}],
        store=False,
        include=["reasoning.encrypted_content"],
        tools=[{"type": "function", "name": "look", "description": "Looks", "parameters": SCHEMA, "strict": False}],
    )
    calls = [item for item in answer.output if item.type == "function_call"]
    return [call.name for call in calls], answer.usage.total_tokens


def anthropic():
    from anthropic import Anthropic

    answer = Anthropic(api_key=key, base_url=base_url).messages.create(
        model="test-model",
        max_tokens=LIMIT,
        system=SYSTEM,
        messages=[{"role": "user", "content": [{"type": "text", "text": TOLD}]}],
        tools=[{"name": "look", "description": "Looks", "input_schema": SCHEMA}],
    )
    calls = [block for block in answer.content if block.type == "tool_use"]
    return [call.name for call in calls], answer.usage.input_tokens + answer.usage.output_tokens


def gemini():
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=base_url, api_version="v1beta"))
    look = types.FunctionDeclaration(name="look", description="Looks", parameters_json_schema=SCHEMA)
    answer = client.models.generate_content(
        model="test-model",
        contents=TOLD,
        config=types.GenerateContentConfig(
            system_instruction=SYSTEM,
            max_output_tokens=LIMIT,
            tools=[types.Tool(function_declarations=[look])],
        ),
    )
    return [call.name for call in answer.function_calls], answer.usage_metadata.total_token_count


ASK = {"openai": openai, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}
print(json.dumps(ASK[protocol]()))
