"""A green agent that holds a debate between two purple agents and judges it, on A2A 0.3.

It shows a whole assessment as AgentBeats knows it: a request in one text part of JSON, a streamed
task whose working statuses follow the debate, other agents asked over A2A, and an artifact "Result"
of a reason (text) and a verdict (data). A bad request is a JSON-RPC error; a silent debater, a failed task.

    python scenarios/debate/judge.py --port 9009
"""

import re

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    AgentSkill,
    DataPart,
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

EXAMPLE = """\
{
  "participants": {"pro_debater": "http://127.0.0.1:9019/", "con_debater": "http://127.0.0.1:9018/"},
  "config": {"topic": "Should artificial intelligence be regulated?", "num_rounds": 2}
}"""


class Participants(BaseModel):
    pro_debater: HttpUrl
    con_debater: HttpUrl


class Config(BaseModel):
    topic: str = Field(min_length=1)
    num_rounds: int = Field(ge=1, le=20)


class Request(BaseModel):
    participants: Participants
    config: Config


class Judge(AgentExecutor):
    """Moderates, then judges."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        request = read(context.get_user_input())
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        async def say(text: str, state: TaskState = TaskState.working) -> None:
            await updater.update_status(state, updater.new_agent_message([Part(TextPart(text=text))]))

        await say(f"Starting assessment.\n{request.model_dump_json()}")
        debate: list[tuple[str, str]] = []  # role and speech, in turn
        conversations: dict[str, str | None] = {}
        for role, url in list(request.participants) * request.config.num_rounds:
            prompt = f"Topic: {request.config.topic}"
            if debate:
                prompt += f"\nOpponent: {debate[-1][1]}"
            try:
                answer = await ask(str(url), prompt, conversations.get(role))
            except NoAnswer as error:
                return await say(f"{role} gave no answer: {error}", TaskState.failed)
            conversations[role] = answer.context_id
            debate.append((role, answer.text))
            await say(f"{role}: {answer.text}")
        await say("Debate finished. Judging.")

        reason, verdict = judge(request.config.topic, debate)
        await updater.add_artifact([Part(TextPart(text=reason)), Part(DataPart(data=verdict))], name="Result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


def read(text: str) -> Request:
    """The assessment request, or a JSON-RPC error that says what is wrong with it."""
    try:
        return Request.model_validate_json(text)
    except ValidationError as error:
        faults = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors()]
        message = "; ".join(f"{place or 'request'}: {words}" for place, words in faults)
        raise ServerError(InvalidParamsError(message=message)) from None


def judge(topic: str, debate: list[tuple[str, str]]) -> tuple[str, dict]:
    """The reason in words, and the verdict as data."""
    detail = {role: score(topic, debate, role) for role in Participants.model_fields}
    pro, con = (detail[role]["total"] for role in detail)
    winner = "draw" if pro == con else "pro_debater" if pro > con else "con_debater"
    return f"{winner}: {pro} for pro, {con} for con.", {"winner": winner, "detail": detail}


def score(topic: str, debate: list[tuple[str, str]], role: str) -> dict[str, float]:
    """Marks from 0 to 1: naming the topic, giving grounds, and taking up the opponent's words."""
    turns = [(speech, heard) for (_, heard), (who, speech) in zip([("", ""), *debate], debate) if who == role]
    answers = [(speech, heard) for speech, heard in turns if heard]
    marks = {
        "relevance": share(terms(topic) & terms(speech) for speech, _ in turns),
        "evidence": share({"because", "evidence", "example"} & terms(speech) for speech, _ in turns),
        "rebuttal": share((terms(speech) & terms(heard)) - terms(topic) for speech, heard in answers),
    }
    return {**marks, "total": round(sum(marks.values()), 2)}


def terms(text: str) -> set[str]:
    """The words that carry meaning: those of five letters and more."""
    return set(re.findall(r"[a-z]{5,}", text.lower()))


def share(hits) -> float:
    """How many of the speeches hit something."""
    hits = list(hits)
    return round(sum(map(bool, hits)) / len(hits), 2) if hits else 0.0


if __name__ == "__main__":
    serve(
        Judge(),
        command_line("A debate judge on A2A 0.3.").parse_args(),
        name="Debate judge",
        skill=AgentSkill(
            id="judge_debate",
            name="Judge a debate",
            description="Holds a debate between two agents and judges it.",
            tags=["debate", "evaluation"],
            examples=[EXAMPLE],
        ),
    )
