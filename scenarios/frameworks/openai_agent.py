"""An agent of the OpenAI Agents SDK, which works with the MCP servers that a message tells of.

    python scenarios/frameworks/openai_agent.py --port 3979
"""

from contextlib import AsyncExitStack

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp

from serving import serve

set_default_openai_api("chat_completions")
set_tracing_disabled(True)


async def answer(message):
    servers = [MCPServerStreamableHttp(params={"url": it["url"], "headers": it["headers"]}) for it in message.servers]
    async with AsyncExitStack() as stack:
        for server in servers:
            await stack.enter_async_context(server)
        agent = Agent("Purple", instructions="Do what you are told.", mcp_servers=servers)
        return (await Runner.run(agent, message.prompt, max_turns=50)).final_output


if __name__ == "__main__":
    serve(answer)
