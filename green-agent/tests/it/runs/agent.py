"""An agent of the standard library, which answers each message with one of its own. Tests change what they look at."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Agent(BaseHTTPRequestHandler):
    card = {
        "name": "a",
        "description": "d",
        "version": "1",
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "capabilities": {},
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
    }
    scheme = "http"

    def send(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send(200, {**self.card, "url": f"{self.scheme}://127.0.0.1:{self.server.server_port}/"})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        parts = [{"kind": "text", "text": self.answer()}]
        message = {"kind": "message", "role": "agent", "messageId": "1", "parts": parts}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": message})

    def answer(self):
        return "hello"

    def log_message(self, *_):
        pass


def server(port, agent=Agent):
    return ThreadingHTTPServer(("127.0.0.1", int(port)), agent)
