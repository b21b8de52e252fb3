"""An agent on PyPI's a2a-sdk that repeats the message: `python agent.py PORT`."""

import logging
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.add_artifact([Part(TextPart(text=context.get_user_input()))])
        await updater.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


port = int(sys.argv[1])
card = AgentCard(
    name="echo",
    description="Repeats the message.",
    version="1.0.0",
    url=f"http://127.0.0.1:{port}/",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text"],
    default_output_modes=["text"],
    skills=[AgentSkill(id="echo", name="Echo", description="Repeats the message.", tags=[])],
)
app = A2AStarletteApplication(card, DefaultRequestHandler(Echo(), InMemoryTaskStore())).build()
logging.getLogger("a2a").setLevel(logging.CRITICAL)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
