"""What the agents of this folder on PyPI's a2a-sdk share: a command line and an A2A 1.0 server.

Needs: a2a-sdk[http-server]==1.3.0, uvicorn==0.54.0
"""

import logging
from argparse import Namespace

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


def serve(executor: AgentExecutor, args: Namespace, *, name: str, skill: AgentSkill) -> None:
    """Serves the agent over JSON-RPC where the command line says, until SIGTERM."""
    card = AgentCard(
        name=name,
        description=skill.description,
        version="1.0.1",
        supported_interfaces=[
            AgentInterface(url=f"http://127.0.0.1:{args.port}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    for noisy in ("a2a", "mcp"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # a refused request is no fault of the agent's
    uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="warning", timeout_graceful_shutdown=1)


async def open_task(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    """The message's task: the one it continues, or a new one, submitted."""
    if not context.current_task:
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
    return TaskUpdater(event_queue, context.task_id, context.context_id)
