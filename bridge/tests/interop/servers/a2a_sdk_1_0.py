"""An agent on PyPI a2a-sdk 1.3.0: A2A 1.0 over JSON-RPC at `/`, over HTTP+JSON below `/rest` and over gRPC at a port
of its own, where it speaks 0.3 too."""

import asyncio

import grpc
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from listening import port, serving
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


def card_of(address, grpc_port):
    def at(url, binding, version="1.0"):
        return pb.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)

    return pb.AgentCard(
        name="a2a-sdk 1.3.0",
        description="answers",
        version="1",
        capabilities=pb.AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="answer", name="answer", description="answers", tags=["answer"])],
        supported_interfaces=[
            at(f"{address}/", "JSONRPC"),
            at(f"{address}/rest", "HTTP+JSON"),
            at(f"127.0.0.1:{grpc_port}", "GRPC"),
            at(f"127.0.0.1:{grpc_port}", "GRPC", "0.3"),
        ],
    )


async def any_url(_url):
    return True


async def main():
    listener, address = port()
    rpc = grpc.aio.server()
    card = card_of(address, rpc.add_insecure_port("127.0.0.1:0"))
    handler = DefaultRequestHandler(
        agent_executor=Agent(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        extended_agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore(),
        push_url_validator=any_url,
    )
    add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), rpc)
    await rpc.start()
    routes = (
        create_agent_card_routes(card)
        + create_jsonrpc_routes(handler, "/")
        + create_rest_routes(handler, path_prefix="/rest")
    )
    await serving(Starlette(routes=routes), listener, address)


asyncio.run(main())
