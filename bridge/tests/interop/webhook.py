"""A webhook that the clients in Python listen with: it notes what it gets."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# How often is looked for what has not come yet.
PAUSE_SECONDS = 0.02


class Webhook:
    """Listens on this machine; `got` are pairs of headers and bodies, in the order in which they came, and `raw`
    the same bodies as bytes."""

    def __init__(self):
        self.got = []
        self.raw = []
        got, raw = self.got, self.raw

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                raw.append(body)
                got.append((self.headers, json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    async def wait(self, wanted):
        """What came, once it is as wanted; the program's own limit ends it otherwise."""
        while not wanted(self.got):
            await asyncio.sleep(PAUSE_SECONDS)
        return self.got
