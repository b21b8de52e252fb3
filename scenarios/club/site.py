"""A web site that an agent may be looked for at, and that may not have one.

Without --card every page is there but no card (404). With --card FILE its text is served as the site's
agent.json, whatever it is, with the site's own address in the place of the one in it; then whatever is posted
is answered with --status.

    python3 scenarios/club/site.py --port 8000 [--card FILE] [--status 500]
"""

import argparse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = b"<!doctype html><title>A site</title><p>Welcome."
CARD = "/.well-known/agent.json"
NAMED = "https://urmstontownjfc.co.uk"


class Site(BaseHTTPRequestHandler):
    """A page, perhaps a card, and an answer to tasks."""

    def do_GET(self):
        if self.path == "/":
            return self.reply(200, "text/html", PAGE)
        if self.path == CARD and self.server.card is not None:
            return self.reply(200, "application/json", self.server.card)
        self.reply(404, "text/html", b"")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.reply(self.server.status, "text/plain", b"the agent is broken")

    def reply(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Nobody reads it."""


def main():
    parser = argparse.ArgumentParser(description="A web site.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--card", type=Path)
    parser.add_argument("--status", type=int, default=500)
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Site)
    server.status = args.status
    own = f"http://127.0.0.1:{args.port}"
    server.card = args.card and args.card.read_text(encoding="utf-8").replace(NAMED, own).encode()
    server.serve_forever()


if __name__ == "__main__":
    main()
