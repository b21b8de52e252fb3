"""A purple agent on A2A 1.0 that works with the official MCP client.

It shows: connection details taken from a data part, a bearer token sent with every request, tools called
until the task is done.

    python scenarios/episode/purple.py --port 9019
"""

import argparse

from a2a.helpers import get_data_parts, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError

from adder import add_up
from common import app, open_task, serve


class Purple(AgentExecutor):
    """Adds up the numbers that the environment shows."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        servers = [data["mcpServers"] for data in get_data_parts(context.message.parts) if "mcpServers" in data]
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
    serve(app(Purple(), args, skill=skill), args)
