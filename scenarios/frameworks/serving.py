"""Makes a bot of an agent of any framework; needs Python only.

The bot gets each message as an activity and answers in the HTTP response. `green-agent run` evaluates it as
`bot = "http://127.0.0.1:3979/"`, and `bridge serve --bot agent=http://127.0.0.1:3979/` makes an A2A agent of it.
"""

import argparse
import asyncio
import json
import threading
import traceback
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Message:
    """What the agent is told."""

    prompt: str
    """The text, and the data of the message without connection details."""
    servers: list
    """The MCP servers that the message tells of, each with `url` and `headers`, which are empty if the message has none."""
    conversation: str
    """The same for all messages of a conversation: the key for the agent's memory."""

    @classmethod
    def of(cls, activity):
        files = activity.get("attachments", [])
        data = [file["content"] for file in files if file["contentType"] == "application/json"]
        servers = [{"headers": {}, **server} for part in data for server in part.get("mcpServers", {}).values()]
        details = {"mcpServers", "mcp_connection_details"}
        told = [json.dumps(part) for part in data if details.isdisjoint(part)]
        return cls("\n".join([activity.get("text", ""), *told]), servers, activity["conversation"]["id"])


class Bot(BaseHTTPRequestHandler):
    """Answers each POST in a thread of its own."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        activity = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if activity["type"] != "message":
            return self.reply(200, {"activities": []})
        try:
            text = self.server.answer(Message.of(activity))
            if asyncio.iscoroutine(text):
                text = asyncio.run_coroutine_threadsafe(text, self.server.loop).result()
        except Exception as error:
            traceback.print_exc()
            return self.reply(500, {"error": repr(error)})
        self.reply(200, {"activities": [{"type": "message", "text": text}]})

    def do_GET(self):
        self.reply(404, {})

    def reply(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """The requests are in the transcript."""


def serve(answer):
    """Serves `async def answer(message)`, or `def`, which returns the agent's words, at the port of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Bot)
    server.answer = answer
    # Messages to an `async def` have one event loop, because frameworks keep connections that belong to the loop of the first message.
    server.loop = asyncio.new_event_loop()
    threading.Thread(target=server.loop.run_forever, daemon=True).start()
    server.serve_forever()
