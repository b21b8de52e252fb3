"""A purple agent that answers with a bare Message, on A2A 0.3.

It shows: no Task is made. The answer is one Message in the conversation of the question, and a
stream of it has that one item.

    python scenarios/messages/echo_message.py --port 9019
"""

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill, UnsupportedOperationError
from a2a.utils import new_agent_text_message
from a2a.utils.errors import ServerError

from common import serve


class Echo(AgentExecutor):
    """Says what it was told."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        answer = f"You said: {context.get_user_input()}"
        await event_queue.enqueue_event(new_agent_text_message(answer, context.context_id))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


if __name__ == "__main__":
    serve(
        Echo(),
        name="Echo",
        skill=AgentSkill(id="echo", name="Echo", description="Says what it was told.", tags=["echo"]),
    )
