"""What the agents of this folder share: skills over plain HTTP, with nothing but Python's own library.

An agent is a card with skills at GET /agent-card, and each skill a method of JSON-RPC at POST /execute. It keeps
nothing between two requests. With --registry it makes its card known there before it can be reached; with --key it
takes requests only from those who show the API key that a file holds.
"""

import argparse
import json
import pathlib
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import registry_client


class InvalidParameters(Exception):
    """The parameters are not what the skill takes."""


def skill(description, parameters, gives):
    """Marks a function as a skill: its name is the id, `parameters` and `gives` say types by name."""

    def mark(function):
        properties = {name: {"type": kind} for name, kind in parameters.items()}
        function.card = {
            "id": function.__name__,
            "description": description,
            "input_schema": {"type": "object", "properties": properties, "required": list(parameters)},
            "output_schema": {"type": "object", "properties": {name: {"type": kind} for name, kind in gives.items()}},
        }
        return function

    return mark


def check(parameters, schema):
    types = {"string": str, "array": list, "object": dict}
    for name in schema["required"]:
        if name not in parameters:
            raise InvalidParameters(f"missing required field '{name}'")
    for name, value in parameters.items():
        wanted = schema["properties"].get(name, {}).get("type")
        if wanted and not isinstance(value, types[wanted]):
            raise InvalidParameters(f"field '{name}' must be of type {wanted}")


def execute(skills, request):
    """The answer to one JSON-RPC request."""
    answer = {"jsonrpc": "2.0", "id": request.get("id")}
    function = skills.get(request.get("method"))
    if function is None:
        return answer | {"error": {"code": -32601, "message": f"Unknown skill: {request.get('method')}"}}
    try:
        parameters = request.get("params") or {}
        check(parameters, function.card["input_schema"])
        return answer | {"result": function(**parameters)}
    except InvalidParameters as error:
        return answer | {"error": {"code": -32603, "message": f"Invalid parameters: {error}"}}
    except Exception as error:
        return answer | {"error": {"code": -32603, "message": f"Execution failed: {error}"}}


def handler(card, skills, key):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer(200, card) if self.path == "/agent-card" else self.answer(404, {"error": "not found"})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if key and self.headers["X-API-Key"] != key:
                return self.answer(401, {"error": "expected an API key in X-API-Key"})
            self.answer(200, execute(skills, body)) if self.path == "/execute" else self.answer(404, {})

        def answer(self, status, document):
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def command_line(doc):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--url", help="where it is reached, if not where it listens")
    parser.add_argument("--registry", help="the registry that shall know its card")
    parser.add_argument("--key", help="the file with the API key that callers must show")
    return parser


def serve(name, functions, args, forgotten=()):
    """Serves until SIGTERM. What is forgotten stands on the card, and that is all."""
    url = (args.url or f"http://localhost:{args.port}").rstrip("/")
    skills = {function.__name__: function for function in functions if function not in forgotten}
    card = {"name": name, "url": url, "version": args.version, "skills": [one.card for one in functions]}
    if args.registry:
        registry_client.push(args.registry, f"agents/{name.removesuffix('-agent')}", "v1", card)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    key = pathlib.Path(args.key).read_text(encoding="utf-8").strip() if args.key else None
    ThreadingHTTPServer(("127.0.0.1", args.port), handler(card, skills, key)).serve_forever()
