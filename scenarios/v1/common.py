"""What the agents of this folder share: a command line, an A2A 1.0 server, and words as messages.

Needs: a2a-sdk[http-server]==1.3.0, uvicorn==0.54.0
"""

import argparse
import logging
from collections.abc import Sequence

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message
from starlette.applications import Starlette
from starlette.middleware import Middleware


def serve(executor: AgentExecutor, *, name: str, skill: AgentSkill, middleware: Sequence[Middleware] = ()) -> None:
    """Serves the agent over JSON-RPC where the command line says, until SIGTERM."""
    parser = argparse.ArgumentParser(description=skill.description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    url = f"http://{args.host}:{args.port}/"
    card = AgentCard(
        name=name,
        description=skill.description,
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    app = Starlette(routes=routes, middleware=middleware)
    logging.getLogger("a2a").setLevel(logging.CRITICAL)  # a refused request is no fault of the agent's
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)


async def open_task(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    """The message's task: the one it continues, or a new one, submitted."""
    if not context.current_task:
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
    return TaskUpdater(event_queue, context.task_id, context.context_id)


def text(task: TaskUpdater, words: str) -> Message:
    """A message of the task's."""
    return task.new_agent_message([new_text_part(words)])
