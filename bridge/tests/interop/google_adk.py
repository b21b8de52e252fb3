"""Google ADK's RemoteA2aAgent: it refuses a card with an address that is no URL, and shows artifacts and messages."""

import logging

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from checks import run
from shown import ASKING, card, each, once


async def talk(checks):
    logging.disable(logging.WARNING)

    async def to(name, said):
        remote = RemoteA2aAgent(name=f"remote_{name}", agent_card=card(name), description="answers")
        runner = InMemoryRunner(agent=remote, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="user")
        for text, answer in said:
            content = types.Content(role="user", parts=[types.Part(text=text)])
            shown = ""
            async for event in runner.run_async(
                user_id="user", session_id=session.id, new_message=content
            ):
                parts = event.content.parts if event.content and event.content.parts else []
                shown += "".join(part.text or "" for part in parts) + (event.error_message or "")
            once(checks, f"{name}, streaming", answer, shown)

    # A question becomes a function call, which is answered in its own way.
    await each(to, without=[ASKING])


run(talk)
