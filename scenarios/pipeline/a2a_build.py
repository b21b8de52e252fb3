"""Writes code as an A2A agent: the skill generate_code on PyPI's a2a-sdk. With --slow it takes a minute; with --token
it takes calls only from those who show the bearer token that a file holds, and its card says so.

    python scenarios/pipeline/a2a_build.py --port 8002

Needs: a2a-sdk[http-server]==1.3.0, uvicorn==0.54.0
"""

import argparse
import asyncio
import logging
import pathlib

import uvicorn
from a2a.helpers import get_data_parts, new_data_part, new_task_from_user_message, new_text_part
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
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import JSONResponse

from code_book import code_for


class Builder(AgentExecutor):
    def __init__(self, slow: bool):
        self.slow = slow

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work(task.new_agent_message([new_text_part("Writing code")]))
        if self.slow:
            await asyncio.sleep(60)
        [call] = get_data_parts(context.message.parts)
        code = code_for(call["parameters"]["plan"])
        await task.add_artifact([new_data_part({"code": code})], name="code")
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def guard(token: str) -> Middleware:
    """Cards are for everybody, calls for those who know the token."""

    async def let_in(request, call_next):
        if request.method == "POST" and request.headers.get("authorization") != f"Bearer {token}":
            challenge = {"WWW-Authenticate": 'Bearer realm="build"'}
            return JSONResponse({"error": "expected a bearer token"}, status_code=401, headers=challenge)
        return await call_next(request)

    return Middleware(BaseHTTPMiddleware, dispatch=let_in)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--token", help="the file with the token that callers must show")
    args = parser.parse_args()
    skill = AgentSkill(
        id="generate_code", name="Generate code", description="Writes code that follows a plan", tags=["code"]
    )
    card = AgentCard(
        name="a2a-build-agent",
        description="Writes code",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"http://127.0.0.1:{args.port}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["application/json"],
        default_output_modes=["application/json"],
        skills=[skill],
    )
    middleware = []
    if args.token:
        bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
        card.security_schemes["build-token"].CopyFrom(bearer)
        card.security_requirements.append(SecurityRequirement(schemes={"build-token": StringList()}))
        middleware.append(guard(pathlib.Path(args.token).read_text(encoding="utf-8").strip()))
    handler = DefaultRequestHandler(Builder(args.slow), InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")], middleware=middleware)
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
