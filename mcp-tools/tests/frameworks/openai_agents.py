"""An agent of the OpenAI Agents SDK that has another agent carry out a task, by its MCP client as it is by default.

A function stands in for its model: it calls the tool, and calls it again as long as the status is `working`.

    python openai_agents.py http://127.0.0.1:3999/mcp http://127.0.0.1:9019
"""

import asyncio
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

set_tracing_disabled(True)
tools, other = sys.argv[1:]
statuses = []


def completion(messages):
    """The next message of the model."""
    request = {"task_base_url": other, "contextual_query_text": "hello"}
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if results:
        # The SDK passes the content of the result on, as a text or as a part of one.
        content = results[-1] if isinstance(results[-1], str) else results[-1][0]["text"]
        told = json.loads(content)
        told = json.loads(told["text"]) if told.get("type") == "text" else told
        statuses.append(told["status"])
        if told["status"] != "working":
            return {"role": "assistant", "content": told["text"]}
        request = {"call_id": told["call_id"]}
    function = {"name": "invoke_a2a_agent_skill", "arguments": json.dumps({"task_request_object": request})}
    call = {"id": f"call-{len(results)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = completion(request["messages"])
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choices = [{"index": 0, "message": message, "finish_reason": reason}]
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="unused")
    model = OpenAIChatCompletionsModel(model="m", openai_client=client)
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    async with MCPServerStreamableHttp({"url": tools, "headers": headers}) as mcp:
        agent = Agent("Personal", instructions="Ask the other agent.", model=model, mcp_servers=[mcp])
        said = (await Runner.run(agent, "Ask it.", max_turns=500)).final_output
    print(json.dumps({"said": said, "first": statuses[0], "last": statuses[-1]}))


asyncio.run(main())
