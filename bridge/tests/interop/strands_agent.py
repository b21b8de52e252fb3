"""Strands' A2AAgent, which speaks 0.3 and streams, and the tool that gives it to a model."""

from strands.agent.a2a_agent import A2AAgent
from strands.vended_tools import make_a2a_client

from checks import agent, run
from shown import ASKING, each, once


def texts(message):
    return "".join(part.get("text", "") for part in message["content"])


async def as_a_tool(address, text):
    """What the tool shows to a model. A question is an error of the tool."""
    call = make_a2a_client(allowed_endpoints=[address])
    use = {"toolUseId": "1", "name": call.tool_name, "input": {"operation": "send_message", "endpoint": address, "message": text}}
    async for event in call.stream(use, {}):
        result = event
    return result


async def talk(checks):
    async def to(name, said):
        remote = A2AAgent(endpoint=agent(name))
        for text, answer in said:
            seen = await remote.invoke_async(text)
            once(checks, f"{name}, streaming", answer, texts(seen.message))
            used = (await as_a_tool(agent(name), text))["tool_result"]
            once(checks, f"{name}, as a tool", answer, texts(used))
            checks.equal(f"{name}, status of the tool", "error" if name == ASKING else "success", used["status"])

    await each(to)


run(talk)
