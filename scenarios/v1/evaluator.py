"""A green agent that checks a greeter's manners, on A2A 1.0.

It shows: an assessment request as AgentBeats writes it, in one text part of JSON (a data part does
as well), another agent asked through the SDK's streaming client, its artifact put together from
chunks, and an artifact "Result" with the score as data.

    python scenarios/v1/evaluator.py --port 9009
"""

import json

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_data_parts, get_text_parts, new_data_part, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill, Role, SendMessageRequest, TaskState
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotCancelableError
from pydantic import BaseModel, HttpUrl, ValidationError

from common import open_task, serve, text


class Participants(BaseModel):
    greeter: HttpUrl


class Config(BaseModel):
    name: str = "World"


class Request(BaseModel):
    participants: Participants
    config: Config = Config()


class Evaluator(AgentExecutor):
    """Has a name greeted and compares."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        request = read(context)
        name = request.config.name
        task = await open_task(context, event_queue)
        await task.start_work(text(task, f"Starting assessment.\n{request.model_dump_json()}"))
        try:
            greeting, states = await ask(str(request.participants.greeter), name)
        except (A2AError, httpx.HTTPError) as error:
            return await task.failed(text(task, f"greeter gave no answer: {error}"))
        await task.start_work(text(task, f"greeter: {greeting}"))
        score = 1.0 if greeting == f"Hello, {name}" and states[-1] == "TASK_STATE_COMPLETED" else 0.0
        await task.add_artifact(
            [new_data_part({"score": score, "greeting": greeting, "states": states})], name="Result"
        )
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


def read(context: RequestContext) -> Request:
    """The assessment request, or a JSON-RPC error that says where it is wrong."""
    texts, data = get_text_parts(context.message.parts), get_data_parts(context.message.parts)
    try:
        return Request.model_validate_json("\n".join(texts) or json.dumps(data[0] if data else None))
    except ValidationError as error:
        places = {".".join(map(str, fault["loc"])) or "the text" for fault in error.errors()}
        raise InvalidParamsError(f"Bad request: see {', '.join(sorted(places))}.") from None


async def ask(url: str, words: str) -> tuple[str, list[str]]:
    """What an agent's artifacts say, and the states its task went through."""
    said, states = "", []
    async with httpx.AsyncClient(timeout=120) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        request = SendMessageRequest(message=new_text_message(words, role=Role.ROLE_USER))
        async for item in client.send_message(request):
            match item.WhichOneof("payload"):
                case "task":
                    states.append(TaskState.Name(item.task.status.state))
                case "status_update":
                    states.append(TaskState.Name(item.status_update.status.state))
                case "artifact_update":
                    said += "".join(get_text_parts(item.artifact_update.artifact.parts))
    return said, states


if __name__ == "__main__":
    serve(
        Evaluator(),
        name="Greeting evaluator",
        skill=AgentSkill(
            id="assess_greeter",
            name="Assess a greeter",
            description="Checks that a greeter greets.",
            tags=["evaluation"],
            examples=['{"participants": {"greeter": "http://127.0.0.1:9019/"}, "config": {"name": "Ada"}}'],
        ),
    )
