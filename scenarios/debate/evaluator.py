"""What grader and scorer share: a command line, an A2A 1.0 server, and asking an agent of A2A 1.0 or 0.3.

Needs: a2a-sdk[http-server]==1.3.0, uvicorn==0.54.0
"""

import argparse
import logging
from uuid import uuid4

import httpx
import uvicorn
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, get_text_parts, new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Role,
    SendMessageRequest,
    TaskState,
)
from a2a.utils.errors import InternalError, InvalidParamsError, TaskNotCancelableError
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette

ANSWER_WITHIN = 120  # seconds


class NoAnswer(Exception):
    """An agent could not be reached, refused, or did not finish its task."""


class Evaluator(AgentExecutor):
    """Reads the request of an assessment, and reports a result or why there is none."""

    request: type[BaseModel]

    async def evaluate(self, request) -> dict:
        """The result. Any error but `NoAnswer` is the evaluator's own."""
        raise NotImplementedError

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        try:
            request = self.request.model_validate_json("\n".join(get_text_parts(context.message.parts)))
        except ValidationError as error:
            raise InvalidParamsError(message=str(error)) from None
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        try:
            result = await self.evaluate(request)
        except NoAnswer as error:
            return await updater.failed(updater.new_agent_message([new_text_part(str(error))]))
        except Exception as error:  # whatever a package raises is a fault of the evaluator, and no reason to wait
            raise InternalError(message=f"the answer cannot be judged: {error!r}") from error
        await updater.add_artifact([new_data_part(result)], name="Result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


async def ask(url: str, question: str) -> str:
    """Reads the agent's card, sends it one message and waits for its whole answer."""
    message = Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[new_text_part(question)])
    texts, task = [], None
    try:
        async with httpx.AsyncClient(timeout=ANSWER_WITHIN) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
            async for item in client.send_message(SendMessageRequest(message=message)):
                if item.HasField("message"):
                    texts.append(get_message_text(item.message))
                elif item.HasField("task"):
                    task = item.task
    except Exception as error:  # also those of protobuf, for an answer that is not A2A
        raise NoAnswer(str(error) or repr(error)) from error
    if task:
        if task.status.state != TaskState.TASK_STATE_COMPLETED:
            said = get_message_text(task.status.message)
            raise NoAnswer(f"its task ended as {TaskState.Name(task.status.state)}: {said}")
        texts += [get_artifact_text(artifact) for artifact in task.artifacts]
    return "\n".join(texts)


def command_line(description: str) -> argparse.ArgumentParser:
    """The arguments every evaluator here takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    return parser


def serve(evaluator: Evaluator, args: argparse.Namespace, *, skill: AgentSkill) -> None:
    """Serves the evaluator at `args.host` and `args.port` until SIGTERM."""
    url = f"http://{args.host}:{args.port}/"
    card = AgentCard(
        name=skill.name,
        description=skill.description,
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["application/json"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(evaluator, InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    logging.getLogger("a2a").setLevel(logging.CRITICAL)  # a refused request is no fault of the agent's
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)
