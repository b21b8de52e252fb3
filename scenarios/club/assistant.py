"""A personal agent on PyPI's a2a-sdk that uses the tools with PyPI's MCP client.

The server's token is in MCP_TOKEN.

    python scenarios/club/assistant.py --port 9019 --tools http://127.0.0.1:3999/mcp
"""

import argparse
import os

import httpx2
from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import skills
from common import open_task, serve


async def ask(tools: Client, text: str) -> str:
    """Searches, discovers, and calls the skill; the answer in words."""
    found = (await tools.call_tool("web_search", {"query": text})).structured_content
    site = found["results"][0]["url"]
    agent = (await tools.call_tool("discover_a2a_agent_capabilities", {"target_url": site})).structured_content
    request = {
        "task_base_url": agent["tasking_base_url"],
        "skill_id": agent["available_skills"][0]["id"],
        "parameters": {"age": skills.age_told(text)},
        "contextual_query_text": f"User asked: {text}",
    }
    called = await tools.call_tool("invoke_a2a_agent_skill", {"task_request_object": request})
    outcome = called.structured_content
    while outcome["status"] == "working":
        request = {"call_id": outcome["call_id"]}
        called = await tools.call_tool("invoke_a2a_agent_skill", {"task_request_object": request})
        outcome = called.structured_content
    result = outcome.get("result_data", {})
    return f"{agent['agent_name']}: {outcome['status']}, {result.get('team_name')}, {result.get('contact')}"


class Assistant(AgentExecutor):
    """Asks for the user."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            async with Client(streamable_http_client(self.url, http_client=http)) as tools:
                answer = await ask(tools, context.get_user_input())
        await task.complete(task.new_agent_message([new_text_part(answer)]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tools", required=True)
    args = parser.parse_args()
    skill = AgentSkill(id="assist", name="Assist", description="Asks other agents for its user.", tags=["personal"])
    serve(Assistant(args.tools), args, name="Assistant", skill=skill)
