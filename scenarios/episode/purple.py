"""A purple agent on A2A 1.0 that works with the official MCP client.

It shows: connection details taken from a data part, a bearer token sent with every request, tools called
until the task is done.

    python scenarios/episode/purple.py --port 9019
"""

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.utils.errors import TaskNotCancelableError

from adder import add_up
from common import open_task, serve_adder, told_server


class Purple(AgentExecutor):
    """Adds up the numbers that the environment shows."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        answer = await add_up(told_server(context.message))
        await task.complete(task.new_agent_message([new_text_part(f"I submitted {answer}.")]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    serve_adder(Purple(), __doc__)
