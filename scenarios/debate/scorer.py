"""A green agent that asks its participant a question and scores the answer by a function, on A2A 0.3.

The scenario's `[config]` has a row of a dataset as `task`, with `input` and whatever the function needs. Copy this file and
`common.py`, and replace `score` by your own, which may call any package.

    python scenarios/debate/scorer.py --port 9009
"""

import math
import re

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    AgentSkill,
    DataPart,
    InternalError,
    InvalidParamsError,
    Part,
    TaskState,
    TextPart,
    UnsupportedOperationError,
)
from a2a.utils import new_task
from a2a.utils.errors import ServerError
from pydantic import BaseModel, Field, HttpUrl, ValidationError

from common import NoAnswer, ask, command_line, serve

NUMBER = re.compile(r"-?\$?(?:\d[\d,]*)?\.?\d+")


def score(answer: str, task: dict) -> dict[str, float]:
    """The metrics of an answer: whether its last number is the target, however it is written."""
    numbers = [float(re.sub("[$,]", "", number)) for number in NUMBER.findall(answer)]
    return {"score": float(bool(numbers) and math.isclose(numbers[-1], task["target"], rel_tol=1e-9))}


class Config(BaseModel):
    task: dict


class Request(BaseModel):
    participants: dict[str, HttpUrl] = Field(min_length=1, max_length=1)
    config: Config


class Scorer(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        try:
            request = Request.model_validate_json(context.get_user_input())
        except ValidationError as error:
            raise ServerError(InvalidParamsError(message=str(error))) from None
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        [url] = request.participants.values()
        try:
            answer = await ask(str(url), request.config.task["input"])
        except NoAnswer as error:
            silent = updater.new_agent_message([Part(TextPart(text=str(error)))])
            return await updater.update_status(TaskState.failed, silent)
        try:
            metrics = score(answer.text, request.config.task)
        except Exception as error:  # whatever a package raises is a fault of the evaluator, and no reason to wait
            raise ServerError(InternalError(message=f"the answer cannot be scored: {error!r}")) from error
        await updater.add_artifact([Part(DataPart(data={"metrics": metrics, "answer": answer.text}))], name="Result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


if __name__ == "__main__":
    arguments = command_line("Scores answers by a function, on A2A 0.3.").parse_args()
    skill = AgentSkill(id="score", name="Score answers", description="Scores the answer of an agent.", tags=["evaluation"])
    serve(Scorer(), arguments, name="Scorer", skill=skill)
