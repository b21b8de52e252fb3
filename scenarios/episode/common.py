"""What the agents of this folder share: a command line and an A2A 1.0 server, with routes of their own.

Needs: a2a-sdk[http-server]==1.3.0, uvicorn==0.54.0
"""

import argparse
import logging
from argparse import Namespace

import uvicorn
from a2a.helpers import get_data_parts, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message
from starlette.applications import Starlette


def app(
    executor: AgentExecutor, args: Namespace, *, skill: AgentSkill, extensions=(), routes=(), lifespan=None
) -> Starlette:
    """An agent that is reached where the command line says."""
    url = f"http://{args.host}:{args.port}/"
    card = AgentCard(
        name=skill.name,
        description=skill.description,
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True, extensions=extensions),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    own = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    return Starlette(routes=[*own, *routes], lifespan=lifespan)


def serve(app: Starlette, args: Namespace) -> None:
    """Serves until SIGTERM."""
    for noisy in ("a2a", "mcp"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # a refused request is no fault of the agent's
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)


async def open_task(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    """The message's task: the one it continues, or a new one, submitted."""
    if not context.current_task:
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
    return TaskUpdater(event_queue, context.task_id, context.context_id)


def told_server(message: Message) -> dict:
    """The connection details of the one MCP server that the message's last such data part names."""
    servers = [data["mcpServers"] for data in get_data_parts(message.parts) if "mcpServers" in data]
    [server] = servers[-1].values()
    return server


def serve_adder(executor: AgentExecutor, description: str, *, extensions=()) -> None:
    """Serves a purple agent that adds up numbers, at the host and port of the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    skill = AgentSkill(id="add", name="Add", description="Adds up numbers.", tags=["purple"])
    serve(app(executor, args, skill=skill, extensions=extensions), args)
