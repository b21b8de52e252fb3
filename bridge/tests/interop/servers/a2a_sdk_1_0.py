"""An agent on PyPI a2a-sdk 1.3.0: A2A 1.0 over JSON-RPC at `/` and over HTTP+JSON below `/rest`."""

import asyncio

from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from listening import port, serve
from starlette.applications import Starlette


class Agent(AgentExecutor):
    async def execute(self, context, events):
        text = context.get_user_input()
        if not context.current_task:
            task = pb.Task(id=context.task_id, context_id=context.context_id, history=[context.message])
            task.status.state = pb.TASK_STATE_SUBMITTED
            task.status.timestamp.GetCurrentTime()
            await events.enqueue_event(task)
        updater = TaskUpdater(events, context.task_id, context.context_id)

        def say(words):
            return updater.new_agent_message([pb.Part(text=words)])

        await updater.start_work(say("thinking"))
        if text == "ask":
            await updater.requires_input(say("what?"))
        elif text == "wait":
            await asyncio.sleep(3600)
        else:
            for piece, is_first in (("You said: ", True), (text, False)):
                part = [pb.Part(text=piece)]
                await updater.add_artifact(
                    part, artifact_id="answer", name="Answer", append=not is_first, last_chunk=not is_first
                )
            await updater.complete(say("done"))

    async def cancel(self, context, events):
        await TaskUpdater(events, context.task_id, context.context_id).cancel()


listener, address = port()
card = pb.AgentCard(
    name="a2a-sdk 1.3.0",
    description="answers",
    version="1",
    capabilities=pb.AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[pb.AgentSkill(id="answer", name="answer", description="answers", tags=["answer"])],
    supported_interfaces=[
        pb.AgentInterface(url=f"{address}/", protocol_binding="JSONRPC", protocol_version="1.0"),
        pb.AgentInterface(url=f"{address}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
    ],
)


async def any_url(_url):
    return True


handler = DefaultRequestHandler(
    agent_executor=Agent(),
    task_store=InMemoryTaskStore(),
    agent_card=card,
    extended_agent_card=card,
    push_config_store=InMemoryPushNotificationConfigStore(),
    push_url_validator=any_url,
)
routes = (
    create_agent_card_routes(card)
    + create_jsonrpc_routes(handler, "/")
    + create_rest_routes(handler, path_prefix="/rest")
)
serve(Starlette(routes=routes), listener, address)
