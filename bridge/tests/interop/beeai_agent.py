"""BeeAI's A2AAgent, which speaks 0.3: it shows the last artifact, or what the history has, or the status."""

from beeai_framework.adapters.a2a.agents.agent import A2AAgent
from beeai_framework.memory import UnconstrainedMemory

from checks import agent, run
from shown import ASKING, each, once


async def talk(checks):
    async def to(name, said):
        for way, streaming in (("waiting", False), ("streaming", True)):
            remote = A2AAgent(url=agent(name), memory=UnconstrainedMemory())
            # Of a second question it shows the first one, which is in the history then.
            for text, answer in said[:1] if name == ASKING else said:
                seen = await remote.run(text, streaming=streaming)
                once(checks, f"{name}, {way}", answer, seen.last_message.text)

    await each(to)


run(talk)
