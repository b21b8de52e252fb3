"""NVIDIA's NeMo Agent Toolkit, which speaks 0.3: it shows the artifacts of a task, or else what the history has."""

from nat.plugins.a2a.client.client_base import A2ABaseClient

from checks import agent, run
from shown import ASKING, each, once


async def talk(checks):
    async def to(name, said):
        for way, streaming in (("waiting", False), ("streaming", True)):
            async with A2ABaseClient(agent(name), streaming=streaming) as remote:
                for text, answer in said:
                    events = [event async for event in remote.send_message(text)]
                    once(checks, f"{name}, {way}", answer, remote.extract_text_from_events(events))

    # Of a task that waits it shows only that it goes on.
    await each(to, without=[ASKING])


run(talk)
