"""What the agents of this folder share: a command line and an A2A 0.3 server.

Needs: a2a-sdk[http-server]==0.3.26, uvicorn==0.54.0
"""

import argparse
import logging

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, Message, Part, TextPart, UnsupportedOperationError
from a2a.utils import new_task
from a2a.utils.errors import ServerError


class Agent(AgentExecutor):
    """An agent whose `work` goes wrong in its own way."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        await self.work(TaskUpdater(event_queue, task.id, task.context_id))

    async def work(self, task: TaskUpdater) -> None:
        raise NotImplementedError

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


def text(task: TaskUpdater, words: str) -> Message:
    """A message of the task's."""
    return task.new_agent_message([Part(TextPart(text=words))])


def command_line(description: str) -> argparse.ArgumentParser:
    """The arguments every agent here takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    return parser


def configure(
    agent: AgentExecutor, args: argparse.Namespace, *, name: str, description: str
) -> uvicorn.Config:
    """How the agent is served at `args.host` and `args.port`."""
    card = AgentCard(
        name=name,
        description=description,
        version="1.0.0",
        url=f"http://{args.host}:{args.port}/",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[],
    )
    app = A2AStarletteApplication(card, DefaultRequestHandler(agent, InMemoryTaskStore())).build()
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    return uvicorn.Config(app, args.host, args.port, log_level="warning", timeout_graceful_shutdown=1)


def serve(agent: AgentExecutor, description: str, *, name: str) -> None:
    """Serves the agent where the command line says, until SIGTERM."""
    args = command_line(description).parse_args()
    uvicorn.Server(configure(agent, args, name=name, description=description)).run()
