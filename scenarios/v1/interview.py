"""A purple agent that asks back, and whose tasks can be canceled, on A2A 1.0.

It shows: several turns on one task. The first message leaves the task in input-required ("What is
your name?"); the next one, a name, completes it with an artifact "Greeting". The message "wait"
keeps a task working until it is canceled, for a minute at most.

    python scenarios/v1/interview.py --port 9019
"""

import asyncio

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import AgentSkill

from common import open_task, serve, text

PATIENCE = 60  # seconds


class Interview(AgentExecutor):
    """Asks for a name, then greets."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        said = context.get_user_input().strip()
        task = await open_task(context, event_queue)
        if context.current_task:
            await task.add_artifact([new_text_part(f"Hello, {said}")], name="Greeting")
            await task.complete()
        elif said == "wait":
            await task.start_work(text(task, "Waiting to be canceled."))
            await asyncio.sleep(PATIENCE)
            await task.failed(text(task, "Nobody canceled this task."))
        else:
            await task.requires_input(text(task, "What is your name?"))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


if __name__ == "__main__":
    serve(
        Interview(),
        name="Interviewer",
        skill=AgentSkill(
            id="greet", name="Greet", description="Asks for a name, then greets.", tags=["greeting"]
        ),
    )
