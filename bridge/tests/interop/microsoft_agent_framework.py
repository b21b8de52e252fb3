"""Microsoft's Agent Framework: what it shows comes from artifacts and the history, in streams from messages too."""

import httpx
from a2a.client import A2ACardResolver
from agent_framework_a2a import A2AAgent

from checks import agent, run
from shown import SAID, once


async def talk(checks):
    url = agent("sample")
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(httpx_client=http, base_url=url).get_agent_card()
        remote = A2AAgent(name="remote", agent_card=card, url=url)
        for said, answer in SAID:
            once(checks, "waiting", answer, (await remote.run(said)).text)
            pieces = [piece.text async for piece in remote.run(said, stream=True)]
            once(checks, "streaming", answer, "".join(pieces))


run(talk)
