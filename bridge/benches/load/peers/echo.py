"""The echo of the load program on the official Python SDK: echo.py PORT"""

import asyncio
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as a2a
from starlette.applications import Starlette

PORT = int(sys.argv[1])


class Echo(AgentExecutor):
    async def execute(self, context, queue):
        text = "".join(part.text for part in context.message.parts)
        task = a2a.Task(id=context.task_id, context_id=context.context_id, history=[context.message])
        task.status.state = a2a.TASK_STATE_SUBMITTED
        task.status.timestamp.GetCurrentTime()
        await queue.enqueue_event(task)
        if text.startswith("hold"):
            await asyncio.sleep(3600)
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        await updater.add_artifact([a2a.Part(text=text)], name="echo")
        await updater.complete()

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


url = f"http://127.0.0.1:{PORT}/"
card = a2a.AgentCard(
    name="echo",
    description="echo",
    version="1",
    capabilities=a2a.AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[a2a.AgentSkill(id="echo", name="echo", description="echo", tags=["echo"])],
    supported_interfaces=[a2a.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
)
handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card)
app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
uvicorn.run(app, host="127.0.0.1", port=PORT, access_log=False, log_level="warning", backlog=4096)
