"""What judge and debaters share: a command line, an A2A 0.3 server, and asking another agent.

Needs: a2a-sdk[http-server]==0.3.26, uvicorn==0.54.0
"""

import argparse
import logging
from dataclasses import dataclass
from uuid import uuid4

import httpx
import uvicorn
from a2a.client import A2ACardResolver, A2AClientError, ClientConfig, ClientFactory
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Message, Part, Role, Task, TaskState, TextPart
from a2a.utils import get_artifact_text, get_message_text

ANSWER_WITHIN = 120  # seconds


def command_line(description: str) -> argparse.ArgumentParser:
    """The arguments every agent here takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    return parser


def serve(executor: AgentExecutor, args: argparse.Namespace, *, name: str, skill: AgentSkill) -> None:
    """Serves the agent at `args.host` and `args.port` until SIGTERM."""
    card = AgentCard(
        name=name,
        description=skill.description,
        version="1.0.0",
        url=f"http://{args.host}:{args.port}/",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore())
    app = A2AStarletteApplication(card, handler).build()
    logging.getLogger("a2a").setLevel(logging.CRITICAL)  # a refused request is no fault of the agent's
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)


class NoAnswer(Exception):
    """An agent could not be reached, refused, or did not finish its task."""


@dataclass(frozen=True)
class Answer:
    """What an agent said, and the conversation it said it in."""

    text: str
    context_id: str | None


async def ask(url: str, question: str, context_id: str | None = None) -> Answer:
    """Reads the agent's card, sends it one message and waits for its whole answer."""
    message = Message(
        message_id=uuid4().hex,
        context_id=context_id,
        role=Role.user,
        parts=[Part(TextPart(text=question))],
    )
    try:
        async with httpx.AsyncClient(timeout=ANSWER_WITHIN) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
            [reply] = [event async for event in client.send_message(message)]
    except A2AClientError as error:
        raise NoAnswer(str(error)) from error
    match reply:
        case Message():
            return Answer(get_message_text(reply), reply.context_id)
        case (Task(status=status) as task, _) if status.state == TaskState.completed:
            texts = [get_artifact_text(artifact) for artifact in task.artifacts or []]
            return Answer("\n".join(texts), task.context_id)
        case (task, _):
            raise NoAnswer(f"its task ended as {task.status.state.value}")
