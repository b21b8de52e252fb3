"""Microsoft's Agent Framework: what it shows comes from artifacts and the history, in streams from messages too."""

import httpx
from a2a.client import A2ACardResolver
from agent_framework_a2a import A2AAgent

from checks import agent, run
from shown import each, once


async def talk(checks):
    async def to(name, said):
        url = agent(name)
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(httpx_client=http, base_url=url).get_agent_card()
            remote = A2AAgent(name="remote", agent_card=card, url=url)
            for text, answer in said:
                once(checks, f"{name}, waiting", answer, (await remote.run(text)).text)
                pieces = [piece.text async for piece in remote.run(text, stream=True)]
                once(checks, f"{name}, streaming", answer, "".join(pieces))

    await each(to)


run(talk)
