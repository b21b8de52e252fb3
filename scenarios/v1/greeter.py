"""A purple agent that greets whoever is named, on A2A 1.0.

It shows: a streamed task (submitted, working, completed) whose artifact comes in two chunks, the
second appended to the first.

    python scenarios/v1/greeter.py --port 9019
"""

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError

from common import open_task, serve, text


class Greeter(AgentExecutor):
    """Says hello, in two breaths."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        await task.start_work(text(task, "Clearing my throat."))
        name = context.get_user_input().strip()
        chunk = {"artifact_id": "greeting", "name": "Greeting"}
        await task.add_artifact([new_text_part("Hello, ")], **chunk)
        await task.add_artifact([new_text_part(name)], **chunk, append=True, last_chunk=True)
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    serve(
        Greeter(),
        name="Greeter",
        skill=AgentSkill(id="greet", name="Greet", description="Greets whoever is named.", tags=["greeting"]),
    )
