"""Somebody at a terminal, as an agent of A2A 0.3: it runs the lines that the document prints, and says what they print.

The lines are for http://localhost:8080; curl is told that this is somewhere else.

    python3 scenarios/ust/terminal.py --port 8001 --support http://127.0.0.1:8080
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

LINES = Path(__file__).with_name("lines.sh")
SECONDS = 20


def run_lines(support):
    """What the lines print."""
    with tempfile.TemporaryDirectory() as folder:
        settings = f'connect-to = "localhost:8080:{urlsplit(support).netloc}"\nnoproxy = "*"\n'
        Path(folder, ".curlrc").write_text(settings, encoding="utf-8")
        command = ["bash", "-euo", "pipefail", str(LINES)]
        environment = os.environ | {"CURL_HOME": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
        return done.stdout + done.stderr


class Terminal(BaseHTTPRequestHandler):
    """A card, and a message for each message."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(self.server.card)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {"kind": "text", "text": run_lines(self.server.support)}
        message = {"kind": "message", "role": "agent", "messageId": f"{request['id']}-said", "parts": [said]}
        self.reply({"jsonrpc": "2.0", "id": request["id"], "result": message})

    def reply(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nobody reads it."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--support", required=True)
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Terminal)
    server.support = args.support
    server.card = {
        "protocolVersion": "0.3.0", "name": "Terminal", "description": "Runs the printed lines", "version": "1.0.0",
        "url": f"http://127.0.0.1:{args.port}/", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "run", "name": "Run", "description": "Runs the printed lines", "tags": []}],
    }
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.serve_forever()


if __name__ == "__main__":
    main()
