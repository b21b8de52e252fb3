"""Strands' A2AAgent, which speaks 0.3 and streams."""

from strands.agent.a2a_agent import A2AAgent

from checks import agent, run
from shown import each, once


async def talk(checks):
    async def to(name, said):
        remote = A2AAgent(endpoint=agent(name))
        for text, answer in said:
            seen = await remote.invoke_async(text)
            shown = "".join(part.get("text", "") for part in seen.message["content"])
            once(checks, f"{name}, streaming", answer, shown)

    await each(to)


run(talk)
