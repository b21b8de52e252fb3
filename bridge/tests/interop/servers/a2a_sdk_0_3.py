"""An agent on PyPI a2a-sdk 0.3.26: A2A 0.3 over JSON-RPC at `/`, over HTTP+JSON below `/rest` and over gRPC at a
port of its own."""

import asyncio

import grpc
from a2a.grpc.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TextPart
from a2a.utils import new_task
from listening import port, serving


class Agent(AgentExecutor):
    async def execute(self, context, events):
        text = context.get_user_input()
        if not context.current_task:
            await events.enqueue_event(new_task(context.message))
        updater = TaskUpdater(events, context.task_id, context.context_id)

        def part(words):
            return [Part(root=TextPart(text=words))]

        def say(words):
            return updater.new_agent_message(part(words))

        await updater.start_work(say("thinking"))
        if text == "ask":
            await updater.requires_input(say("what?"), final=True)
        elif text == "wait":
            await asyncio.sleep(3600)
        else:
            for piece, is_first in (("You said: ", True), (text, False)):
                await updater.add_artifact(
                    part(piece), artifact_id="answer", name="Answer", append=not is_first, last_chunk=not is_first
                )
            await updater.complete(say("done"))

    async def cancel(self, context, events):
        await TaskUpdater(events, context.task_id, context.context_id).cancel()


def card_of(address, grpc_port):
    return AgentCard(
        name="a2a-sdk 0.3.26",
        description="answers",
        version="1",
        url=f"{address}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(url=f"{address}/rest", transport="HTTP+JSON"),
            AgentInterface(url=f"127.0.0.1:{grpc_port}", transport="GRPC"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="answer", name="answer", description="answers", tags=["answer"])],
        supports_authenticated_extended_card=True,
    )


async def main():
    listener, address = port()
    rpc = grpc.aio.server()
    card = card_of(address, rpc.add_insecure_port("127.0.0.1:0"))
    handler = DefaultRequestHandler(
        agent_executor=Agent(),
        task_store=InMemoryTaskStore(),
        push_config_store=InMemoryPushNotificationConfigStore(),
    )
    add_A2AServiceServicer_to_server(GrpcHandler(card, handler), rpc)
    await rpc.start()
    app = A2AStarletteApplication(card, handler, extended_agent_card=card).build()
    app.mount("/rest", A2ARESTFastAPIApplication(card, handler, extended_agent_card=card).build())
    await serving(app, listener, address)


asyncio.run(main())
