"""Traces of the program, read with PyPI opentelemetry-proto, together with those of an agent and a client on PyPI a2a-sdk
whose spans are made by the OpenTelemetry SDK: they agree on traces and parents.

Usage: traced.py PROGRAM, which is `bridge`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import uvicorn
from a2a.client import ClientConfig, create_client
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import TaskPushNotificationConfig
from a2a.types import a2a_pb2 as pb
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from sdk_1_0 import ask
from starlette.applications import Starlette

PROGRAM = sys.argv[1]
SECRET = "the text of a message"
LIMIT_SECONDS = 600


class Collector:
    """Listens for OTLP on this machine; it is a webhook and a bot too, which note the headers that they get."""

    def __init__(self):
        self.spans, self.headers, self.paths = [], {}, set()
        this = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/v1/traces":
                    this.add(body, self.headers)
                elif self.path == "/bot":
                    this.headers["bot"] = self.headers
                    answer(json.loads(body))
                else:
                    this.headers["webhook"] = self.headers
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def add(self, body, headers):
        assert SECRET.encode() not in body, "the text of a message is in a span"
        request = ExportTraceServiceRequest.FromString(body)
        for of in request.resource_spans:
            resource = {one.key: one.value.string_value for one in of.resource.attributes}
            if resource["service.name"] in ("bridge", "chat"):
                assert headers["x-collector-key"] == "k1", headers
            for scope in of.scope_spans:
                self.spans += [(resource["service.name"], span) for span in scope.spans]

    def find(self, service, name):
        """The span of this name, once it is there."""
        until = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < until:
            found = [span for of, span in self.spans if of == service and span.name == name]
            if found:
                return found[-1]
            time.sleep(0.02)
        raise AssertionError(f"{service} has no span {name}: {[(of, span.name) for of, span in self.spans]}")


def answer(activity):
    """Answers as a bot does that knows nothing of traces: by a call of its own."""
    url = f"{activity['serviceUrl'].rstrip('/')}/v3/conversations/{activity['conversation']['id']}/activities"
    said = {"type": "message", "text": "hello", "replyToId": activity["id"]}
    request = urllib.request.Request(url, json.dumps(said).encode(), {"content-type": "application/json"})
    urllib.request.urlopen(request).read()


class Agent(AgentExecutor):
    async def execute(self, context, events):
        reply = pb.Message(message_id="m", role=pb.ROLE_AGENT, parts=[pb.Part(text="hello")])
        await events.enqueue_event(reply)

    async def cancel(self, context, events):
        pass


def tracer(collector, service):
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
    return provider


def agent(collector):
    """Serves an agent with the spans of OpenTelemetry's middleware, and returns its address."""
    interface = pb.AgentInterface(url="http://127.0.0.1:0/", protocol_binding="JSONRPC", protocol_version="1.0")
    card = pb.AgentCard(
        name="Instrumented",
        capabilities=pb.AgentCapabilities(streaming=False),
        description="answers",
        version="1",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="answer", name="answer", description="answers", tags=["answer"])],
        supported_interfaces=[interface],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/") + create_agent_card_routes(card))
    app = OpenTelemetryMiddleware(app, tracer_provider=tracer(collector, "agent"))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    interface = card.supported_interfaces[0]
    interface.url = f"http://127.0.0.1:{port}/"
    return interface.url


def environment(collector, **more):
    exported = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-collector-key=k1",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    return os.environ | exported | more


def parent_of(span):
    return span.trace_id.hex(), span.parent_span_id.hex()


def ids(span):
    return span.trace_id.hex(), span.span_id.hex()


def attributes(span):
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def calls_out(collector):
    """An instrumented agent sees the program's span as its parent, and the program the one that it was started below."""
    started_below = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    chat = [PROGRAM, "chat", agent(collector), "-m", SECRET, "--no-stream"]
    env = environment(collector, OTEL_SERVICE_NAME="chat", TRACEPARENT=started_below)
    subprocess.run(chat, env=env, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
    ours = collector.find("chat", "SendMessage")
    theirs = collector.find("agent", "POST /")
    assert parent_of(theirs) == ids(ours), (theirs, ours)
    assert parent_of(ours) == tuple(started_below.split("-")[1:3]), ours


async def calls_in(collector):
    """The program goes on in the trace of an instrumented client: request, turn, bot, store and push are parts of it."""
    with tempfile.TemporaryFile("w+") as told:
        serve = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", "memory", "--push-allow", "loopback"]
        serve += ["--bot", f"helper={collector.url}/bot"]
        bridge = subprocess.Popen(serve, env=environment(collector), stderr=told)
        try:
            await talk(collector, listening(bridge, told))
        finally:
            bridge.send_signal(signal.SIGTERM)
            assert bridge.wait(LIMIT_SECONDS) == 0


def listening(bridge, told):
    until = time.monotonic() + LIMIT_SECONDS
    while bridge.poll() is None and time.monotonic() < until:
        told.seek(0)
        found = [line.split()[-1] for line in told if line.startswith("listening on ")]
        if found:
            return found[0]
        time.sleep(0.02)
    told.seek(0)
    raise AssertionError(told.read())


async def talk(collector, url):
    caller = tracer(collector, "caller").get_tracer("test")
    with caller.start_as_current_span("asks") as asks:

        async def traced(request):
            propagate.inject(request.headers)

        http = httpx.AsyncClient(timeout=LIMIT_SECONDS, event_hooks={"request": [traced]})
        client = await create_client(url, ClientConfig(streaming=False, httpx_client=http))
        push = TaskPushNotificationConfig(url=f"{collector.url}/hook")
        task = await ask(client, SECRET, push=push)
        asked = trace.format_trace_id(asks.get_span_context().trace_id)
        parent = trace.format_span_id(asks.get_span_context().span_id)
    request = collector.find("bridge", "SendMessage helper")
    turn = collector.find("bridge", "invoke_agent helper")
    bot = collector.find("bridge", "POST bot")
    append = collector.find("bridge", "store append")
    pushed = collector.find("bridge", "push notification")
    assert parent_of(request) == (asked, parent), request
    assert parent_of(turn) == ids(request), turn
    assert parent_of(bot) == ids(turn), bot
    assert parent_of(pushed) == ids(request), pushed
    assert append.trace_id.hex() == asked, append
    said = attributes(turn)
    assert said["gen_ai.operation.name"] == "invoke_agent" and said["gen_ai.agent.name"] == "helper", said
    assert said["gen_ai.conversation.id"] == task.context_id and said["a2a.task.id"] == task.id, said
    assert collector.headers["bot"]["traceparent"] == f"00-{asked}-{bot.span_id.hex()}-01"
    webhook = collector.headers["webhook"]["traceparent"]
    assert webhook.startswith(f"00-{asked}-"), webhook
    # The bot's own call begins a trace, which is linked to the request; its path has a secret, which no span has.
    route = next(span for of, span in collector.spans if of == "bridge" and "conversation" in span.name)
    assert ids(request) in [(link.trace_id.hex(), link.span_id.hex()) for link in route.links], route
    assert "{secret}" in attributes(route)["http.route"], route
    assert not any("healthz" in span.name for _, span in collector.spans)


collector = Collector()
calls_out(collector)
asyncio.run(calls_in(collector))
