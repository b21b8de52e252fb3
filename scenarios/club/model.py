"""A language model that plays recorded answers back, over the protocol of OpenAI's chat completions.

The file of --answers is a list of completions; the answer to a request is the one after those that the request
already holds, so that a conversation gets them in their order.

    python3 scenarios/club/model.py --port 8001 --answers scenarios/club/answers/success.json
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Model(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        given = sum(message["role"] == "assistant" for message in request["messages"])
        if given < len(self.server.answers):
            return self.reply(200, self.server.answers[given])
        self.reply(400, {"error": {"message": f"only {given} answers were recorded"}})

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
        """Nobody reads it."""


def main():
    parser = argparse.ArgumentParser(description="A language model of recorded answers.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Model)
    server.answers = json.loads(args.answers.read_text(encoding="utf-8"))
    server.serve_forever()


if __name__ == "__main__":
    main()
