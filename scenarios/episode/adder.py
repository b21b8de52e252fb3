"""What both purple agents of this folder do in the environment `sum`, over MCP.

Needs: mcp==2.3.0
"""

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def add_up(server: dict) -> int:
    """Connects to the server that connection details name, adds up its numbers and submits their sum."""
    async with httpx2.AsyncClient(headers=server.get("headers", {}), trust_env=False) as http:
        async with Client(streamable_http_client(server["url"], http_client=http)) as environment:
            numbers = (await environment.call_tool("list_numbers")).structured_content["numbers"]
            # JSON has one kind of number, and A2A's SDK may have made floats of whole ones.
            answer = sum(int(number) for number in numbers)
            await environment.call_tool("submit", {"answer": answer})
    return answer
