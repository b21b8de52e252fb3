"""A purple agent that begins only when it has been told twice.

It shows: the extension for acknowledgements, declared in a purple agent's own card. What was not acknowledged
comes again, with the same messageId, while the first turn still runs; the acknowledgement is a data part of a
working status.

    python scenarios/episode/hard_of_hearing.py --port 9019
"""

import argparse
import asyncio

from a2a.helpers import get_data_parts, new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentExtension, AgentSkill, TaskState
from a2a.utils.errors import TaskNotCancelableError

from adder import add_up
from common import app, open_task, serve

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
        servers = [data["mcpServers"] for data in get_data_parts(told.parts) if "mcpServers" in data]
        [server] = servers[-1].values()
        answer = await add_up(server)
        await task.complete(task.new_agent_message([new_text_part(f"I submitted {answer}.")]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    skill = AgentSkill(id="add", name="Add", description="Adds up numbers.", tags=["purple"])
    serve(app(Purple(), args, skill=skill, extensions=[AgentExtension(uri=ACKNOWLEDGE)]), args)
