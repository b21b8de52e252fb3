"""A green agent on A2A 1.0 whose environment is an MCP server of its own, both at one address.

It shows: an assessment request as AgentBeats writes it, a participant that is told by a data part how the
MCP server is reached, and a score that is read from the environment's state.

    python scenarios/episode/green.py --port 9009 --mcp-url http://127.0.0.1:9009/mcp
"""

import argparse
import json

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_text_parts, new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill, Message, Role, SendMessageRequest, TaskState
from a2a.utils.errors import A2AError, TaskNotCancelableError
from mcp.server.mcpserver import MCPServer

from common import app, open_task, serve

TASK = {"task_id": "lamp.on", "benchmark": "lamp", "goal": "Turn the lamp on, then submit."}


class Lamp:
    """The whole world: a lamp, and whether somebody said that it is as it should be."""

    def __init__(self) -> None:
        self.on = False
        self.submitted = False

    def server(self) -> MCPServer:
        server = MCPServer("lamp")

        @server.tool()
        def press_switch() -> str:
            """Turns the lamp on or off."""
            self.on = not self.on
            return "the lamp is on" if self.on else "the lamp is off"

        @server.tool()
        def submit() -> str:
            """Ends the task."""
            self.submitted = True
            return "submitted"

        return server


class Green(AgentExecutor):
    """Has the only participant turn the lamp on."""

    def __init__(self, lamp: Lamp, mcp_url: str) -> None:
        self.lamp, self.mcp_url = lamp, mcp_url

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        request = json.loads("\n".join(get_text_parts(context.message.parts)))
        [url] = request["participants"].values()
        task = await open_task(context, event_queue)
        await task.start_work(task.new_agent_message([new_data_part(TASK)]))
        try:
            state = await ask(url, self.message())
        except (A2AError, httpx.HTTPError) as error:
            return await task.failed(task.new_agent_message([new_text_part(f"no answer: {error}")]))
        score = 1.0 if self.lamp.on and self.lamp.submitted else 0.0
        await task.add_artifact([new_data_part({"score": score, "participant": state})], name="Result")
        await task.complete()

    def message(self) -> Message:
        details = {"mcpServers": {"lamp": {"type": "http", "url": self.mcp_url}}}
        return Message(
            message_id="what-to-do",
            role=Role.ROLE_USER,
            parts=[new_text_part("Please do this."), new_data_part(TASK), new_data_part(details)],
        )

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


async def ask(url: str, message: Message) -> str:
    """The state in which the participant's task ended."""
    state = "none"
    async with httpx.AsyncClient(timeout=120) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        async for item in client.send_message(SendMessageRequest(message=message)):
            match item.WhichOneof("payload"):
                case "task":
                    state = TaskState.Name(item.task.status.state)
                case "status_update":
                    state = TaskState.Name(item.status_update.status.state)
    return state


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--mcp-url", required=True, help="where participants reach the MCP server")
    args = parser.parse_args()
    lamp = Lamp()
    mcp = lamp.server().streamable_http_app(stateless_http=True)
    skill = AgentSkill(id="lamp", name="Lamp", description="Checks that a lamp gets turned on.", tags=["evaluation"])
    serve(app(Green(lamp, args.mcp_url), args, skill=skill, routes=mcp.routes, lifespan=mcp.router.lifespan_context), args)
