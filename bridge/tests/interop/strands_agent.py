"""Strands' A2AAgent, which speaks 0.3 and streams."""

from strands.agent.a2a_agent import A2AAgent

from checks import agent, run
from shown import SAID, once


async def talk(checks):
    remote = A2AAgent(endpoint=agent("sample"))
    for said, answer in SAID:
        seen = await remote.invoke_async(said)
        shown = "".join(part.get("text", "") for part in seen.message["content"])
        once(checks, "streaming", answer, shown)


run(talk)
