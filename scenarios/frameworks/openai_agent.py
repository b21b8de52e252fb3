"""An agent of the OpenAI Agents SDK, which works with the MCP servers that a message tells of.

    python scenarios/frameworks/openai_agent.py --port 3979
"""

from contextlib import AsyncExitStack

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp

from serving import serve

set_default_openai_api("chat_completions")
set_tracing_disabled(True)


def client(server):
    params = {"url": server["url"], "headers": server["headers"]}
    return MCPServerStreamableHttp(params, client_session_timeout_seconds=60)


async def answer(message):
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(client(server)) for server in message.servers]
        agent = Agent("Purple", instructions="Do what you are told.", mcp_servers=servers)
        return (await Runner.run(agent, message.prompt, max_turns=50)).final_output


if __name__ == "__main__":
    serve(answer)
