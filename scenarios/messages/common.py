"""What the agents of this folder share: a command line and an A2A 0.3 server.

Needs: a2a-sdk[http-server]==0.3.26, uvicorn==0.54.0
"""

import argparse
import logging

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill


def serve(executor: AgentExecutor, *, name: str, skill: AgentSkill) -> None:
    """Serves the agent where the command line says, until SIGTERM."""
    parser = argparse.ArgumentParser(description=skill.description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
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
