"""A purple agent that asks back, and whose tasks can be canceled, on A2A 0.3.

It shows: several turns on one task. The first message leaves the task in input-required ("What is
your name?"); the next one, a name, completes it with an artifact "Greeting". The message "wait"
keeps a task working until it is canceled, for a minute at most.

    python scenarios/v0_3/interview.py --port 9019

Needs: a2a-sdk[http-server]==0.3.26, uvicorn==0.54.0
"""

import argparse
import asyncio
import logging

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Message, Part, TextPart
from a2a.utils import new_task

PATIENCE = 60  # seconds


class Interview(AgentExecutor):
    """Asks for a name, then greets."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        said = context.get_user_input().strip()
        task = context.current_task
        if not task:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            if said == "wait":
                await wait(updater)
            else:
                await updater.requires_input(text(updater, "What is your name?"), final=True)
        else:
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            await updater.add_artifact([Part(TextPart(text=f"Hello, {said}"))], name="Greeting")
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def wait(updater: TaskUpdater) -> None:
    """Works until canceled. This SDK tells only the canceler, so the task's own stream is told here."""
    await updater.start_work(text(updater, "Waiting to be canceled."))
    try:
        await asyncio.sleep(PATIENCE)
    except asyncio.CancelledError:
        await updater.cancel()
    else:
        await updater.failed(text(updater, "Nobody canceled this task."))


def text(updater: TaskUpdater, words: str) -> Message:
    return updater.new_agent_message([Part(TextPart(text=words))])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An interviewer on A2A 0.3.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    skill = AgentSkill(
        id="greet", name="Greet", description="Asks for a name, then greets.", tags=["greeting"]
    )
    card = AgentCard(
        name="Interviewer",
        description=skill.description,
        version="1.0.0",
        url=f"http://{args.host}:{args.port}/",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[skill],
    )
    app = A2AStarletteApplication(card, DefaultRequestHandler(Interview(), InMemoryTaskStore())).build()
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)
