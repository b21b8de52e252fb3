"""Google ADK's RemoteA2aAgent: it refuses a card with an address that is no URL, and shows artifacts and messages."""

import logging

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from checks import run
from shown import SAID, card, once


async def talk(checks):
    logging.disable(logging.WARNING)
    remote = RemoteA2aAgent(name="remote", agent_card=card(), description="answers")
    runner = InMemoryRunner(agent=remote, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    for said, answer in SAID:
        content = types.Content(role="user", parts=[types.Part(text=said)])
        shown = ""
        async for event in runner.run_async(
            user_id="user", session_id=session.id, new_message=content
        ):
            parts = event.content.parts if event.content and event.content.parts else []
            shown += "".join(part.text or "" for part in parts) + (event.error_message or "")
        once(checks, "streaming", answer, shown)


run(talk)
