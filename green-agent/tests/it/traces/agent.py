"""An agent on PyPI a2a-sdk whose spans are made by the OpenTelemetry SDK, set up from the environment alone. `common` is that of
`scenarios/v1`."""

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError
from common import open_task, serve
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from starlette.middleware import Middleware


class Traced(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        await task.add_artifact([new_text_part("It was traced.")])
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
serve(
    Traced(),
    name="Traced",
    skill=AgentSkill(id="trace", name="Trace", description="is traced", tags=["traces"]),
    middleware=[Middleware(OpenTelemetryMiddleware, tracer_provider=provider)],
)
