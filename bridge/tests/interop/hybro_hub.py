"""Hybro's hub sends messages to agents on its machine, and publishes what they stream."""

from uuid import uuid4

from hub.agent_registry import AgentRegistry
from hub.config import HubConfig
from hub.dispatcher import Dispatcher

from checks import agent, run
from shown import agents_shown, each, once


async def talk(checks):
    local = [{"name": name, "url": agent(name)} for name in agents_shown()]
    registry = AgentRegistry(HubConfig(hub_id="hub", agents={"local": local, "auto_discover": False}))
    agents = {found.name: found for found in await registry.discover()}
    await registry.close()
    dispatcher = Dispatcher()

    async def to(name, said):
        place = {}
        for text, answer in said:
            message = {"messageId": str(uuid4()), "role": "user", "parts": [{"kind": "text", "text": text}], **place}
            events = [event async for batch in dispatcher.dispatch(agents[name], message, "answer") for event in batch]
            shown = [event["data"].get(part, "") for event in events for part in ("text", "status_text", "content")]
            once(checks, name, answer, "\n".join(shown))
            waits = [event["data"] for event in events if event["type"] == "task_interactive"]
            place = {"taskId": waits[0]["task_id"], "contextId": waits[0]["context_id"]} if waits else {}

    await each(to)
    await dispatcher.close()


run(talk)
