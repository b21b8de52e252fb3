"""An agent on PyPI a2a-sdk, of A2A 1.0. `common` is that of `scenarios/v1`."""

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError
from common import open_task, serve

import model


class Adder(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        await task.add_artifact([new_text_part(model.answer(context.get_user_input()))], name="Sum")
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


serve(Adder(), name="Adder", skill=AgentSkill(id="add", name="Add", description="adds", tags=["sums"]))
