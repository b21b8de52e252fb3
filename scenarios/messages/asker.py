"""A green agent that asks every participant some questions and checks the answers, on A2A 0.3.

It shows: message/send without streaming, answers taken from a Task or from a bare Message alike,
and a score. A question is a text, which any answer will do for, or {"ask": ..., "expect": ...},
whose answer must contain the expected text, in whatever case.

    python scenarios/messages/asker.py --port 9009
"""

from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, A2AClientError, ClientConfig, ClientFactory
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    AgentSkill,
    DataPart,
    InvalidParamsError,
    Message,
    Part,
    Role,
    TaskState,
    TextPart,
    UnsupportedOperationError,
)
from a2a.utils import get_artifact_text, get_message_text, new_task
from a2a.utils.errors import ServerError
from pydantic import BaseModel, Field, HttpUrl, ValidationError

from common import serve


class Question(BaseModel):
    ask: str
    expect: str = ""


class Config(BaseModel):
    questions: list[str | Question] = Field(min_length=1)


class Request(BaseModel):
    participants: dict[str, HttpUrl] = Field(min_length=1)
    config: Config


class Asker(AgentExecutor):
    """Asks each participant each question, each in a conversation of its own."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        try:
            request = Request.model_validate_json(context.get_user_input())
        except ValidationError as error:
            places = {".".join(map(str, fault["loc"])) or "the text" for fault in error.errors()}
            message = f"Bad request: see {', '.join(sorted(places))}."
            raise ServerError(InvalidParamsError(message=message)) from None
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        async def say(text: str, state: TaskState = TaskState.working) -> None:
            await updater.update_status(state, updater.new_agent_message([Part(TextPart(text=text))]))

        answers: dict[str, dict[str, str]] = {role: {} for role in request.participants}
        right: list[bool] = []
        for role, url in request.participants.items():
            for question in request.config.questions:
                question = Question(ask=question) if isinstance(question, str) else question
                await say(f"Asking {role}: {question.ask}")
                try:
                    answer = await ask(str(url), question.ask)
                except A2AClientError as error:
                    return await say(f"{role} gave no answer: {error}", TaskState.failed)
                answers[role][question.ask] = answer
                right.append(bool(answer) and question.expect.lower() in answer.lower())

        result = {"score": round(sum(right) / len(right), 2), "answers": answers}
        await updater.add_artifact([Part(DataPart(data=result))], name="Result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


async def ask(url: str, question: str) -> str:
    """The text of an agent's answer, be it a Message or a Task with artifacts and a last word."""
    message = Message(message_id=uuid4().hex, role=Role.user, parts=[Part(TextPart(text=question))])
    async with httpx.AsyncClient(timeout=120) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        [reply] = [event async for event in client.send_message(message)]
    if isinstance(reply, Message):
        return get_message_text(reply)
    task, _ = reply
    last_word = [get_message_text(task.status.message)] if task.status.message else []
    return "\n".join([*map(get_artifact_text, task.artifacts or []), *last_word])


if __name__ == "__main__":
    serve(
        Asker(),
        name="Asker",
        skill=AgentSkill(
            id="ask",
            name="Ask",
            description="Asks agents questions and checks their answers.",
            tags=["evaluation"],
            examples=[
                '{"participants": {"echo": "http://127.0.0.1:9019/"}, "config": {"questions": ["Ready?"]}}',
            ],
        ),
    )
