"""A purple agent that begins only when it has been told twice.

It shows: the extension for acknowledgements, declared in a purple agent's own card. What was not acknowledged
comes again, with the same messageId, while the first turn still runs; the acknowledgement is a data part of a
working status.

    python scenarios/episode/hard_of_hearing.py --port 9019
"""

import asyncio

from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentExtension, TaskState
from a2a.utils.errors import TaskNotCancelableError

from adder import add_up
from common import open_task, serve_adder, told_server

ACKNOWLEDGE = "urn:a2a-evaluation:acknowledge:v1"


class Purple(AgentExecutor):
    """Adds up the numbers that the environment shows, at the second time of asking."""

    def __init__(self) -> None:
        self.again: dict[str, asyncio.Event] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        told = context.message
        if told.message_id in self.again:
            await task.complete(task.new_agent_message([new_text_part("Now I have heard it.")]))
            self.again[told.message_id].set()
            return
        heard = self.again[told.message_id] = asyncio.Event()
        await asyncio.wait_for(heard.wait(), timeout=20)
        ids = new_data_part({"acknowledged": [told.message_id]})
        await task.update_status(TaskState.TASK_STATE_WORKING, task.new_agent_message([ids]))
        answer = await add_up(told_server(told))
        await task.complete(task.new_agent_message([new_text_part(f"I submitted {answer}.")]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    serve_adder(Purple(), __doc__, extensions=[AgentExtension(uri=ACKNOWLEDGE)])
