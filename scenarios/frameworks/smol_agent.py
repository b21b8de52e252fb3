"""An agent of smolagents, which works with the MCP servers that a message tells of.

    python scenarios/frameworks/smol_agent.py --port 3979
"""

import os

from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

from serving import serve


def answer(message):
    servers = [{"transport": "streamable-http", "url": it["url"], "headers": it["headers"]} for it in message.servers]
    with MCPClient(servers, structured_output=True) as tools:
        agent = ToolCallingAgent(tools, OpenAIServerModel(os.environ["MODEL"]), verbosity_level=0)
        return str(agent.run(message.prompt))


if __name__ == "__main__":
    serve(answer)
