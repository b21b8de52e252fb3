"""A2A 0.3 as PyPI a2a-sdk 1.3.0 still speaks it, with agents whose cards have nothing newer."""

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from checks import STREAMED, agent, run
from sdk_1_0 import ask, said, streamed
from webhook import Webhook


async def turns(checks, client):
    task = await ask(client, "-multi")
    checks.equal("-multi asks for input", "TASK_STATE_INPUT_REQUIRED", said(task)[0])
    again = await ask(client, "one", task)
    checks.equal("the conversation goes on in its task", task.id, again.id)
    got = await client.get_task(GetTaskRequest(id=task.id, history_length=1))
    checks.equal("a history is as long as was asked for", 1, len(got.history))
    ended = await ask(client, "end", task)
    checks.equal("end completes the task", ("TASK_STATE_COMPLETED", "All done."), said(ended))


async def stream(checks, client):
    _, text, _, last = await streamed(client, "-stream")
    checks.equal("the pieces of a stream make up the text", STREAMED, text)
    checks.equal("it ends with the task's end", "TASK_STATE_COMPLETED", last)


async def subscribe(checks, http, binding):
    # Over gRPC requests of 0.3 reach the first agent alone, which leaves a task open when it asks.
    asks = binding == TransportProtocol.GRPC
    name, text, state = ("sample", "-multi", "INPUT_REQUIRED") if asks else ("hanging", "hi", "WORKING")
    waiting, streaming = [await connect(http, name, binding, streams) for streams in (False, True)]
    task = await ask(waiting, text, immediately=not asks)
    states = []
    async for item in streaming.subscribe(SubscribeToTaskRequest(id=task.id)):
        if item.HasField("task"):
            states.append(TaskState.Name(item.task.status.state))
            await streaming.cancel_task(CancelTaskRequest(id=task.id))
        elif item.HasField("status_update"):
            states.append(TaskState.Name(item.status_update.status.state))
    checks.equal("a subscription shows the task", f"TASK_STATE_{state}", states[0])
    checks.equal("it ends when the task is canceled", "TASK_STATE_CANCELED", states[-1])


async def push(checks, client, binding):
    webhook = Webhook()
    bearer = AuthenticationInfo(scheme="Bearer", credentials="secret")
    config = TaskPushNotificationConfig(url=webhook.url, token="token", authentication=bearer)
    await ask(client, "-stream", push=config)
    got = await webhook.wait(lambda got: any(body["status"]["state"] == "completed" for _, body in got))
    checks.equal("a webhook hears of the end, in 0.3", True, bool(got))
    task = await ask(client, "-multi")
    for name, setting in {
        "with credentials": TaskPushNotificationConfig(task_id=task.id, id="a", url=webhook.url, authentication=bearer),
        "without": TaskPushNotificationConfig(task_id=task.id, id="b", url=webhook.url),
    }.items():
        made = await client.create_task_push_notification_config(setting)
        named = GetTaskPushNotificationConfigRequest(task_id=task.id, id=made.id)
        got = await client.get_task_push_notification_config(named)
        checks.equal(f"a setting is got as it was made, {name}", (setting.id, setting.url), (got.id, got.url))
    if binding == TransportProtocol.HTTP_JSON:
        return  # The SDK lists none of 0.3 there.
    of_task = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    listed = await client.list_task_push_notification_configs(of_task)
    checks.equal("they are listed", ["a", "b"], [one.id for one in listed.configs])
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="a")
    await client.delete_task_push_notification_config(gone)
    listed = await client.list_task_push_notification_configs(of_task)
    checks.equal("what is deleted is gone", ["b"], [one.id for one in listed.configs])


async def refused(checks, client):
    unknown = GetTaskRequest(id="unknown")
    await checks.refused("an unknown task is not found", TaskNotFoundError, client.get_task(unknown))
    ended = CancelTaskRequest(id=(await ask(client, "hi")).id)
    await checks.refused("an ended task is not canceled", TaskNotCancelableError, client.cancel_task(ended))


async def connect(http, name, binding, streaming):
    card = await A2ACardResolver(http, agent(name)).get_agent_card()
    old = [one for one in card.supported_interfaces if one.protocol_version == "0.3"]
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(old)
    config = ClientConfig(
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        streaming=streaming,
        supported_protocol_bindings=[binding],
    )
    return ClientFactory(config).create(card)


async def main(checks):
    async with httpx.AsyncClient() as http:
        for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC):
            print(f"-- {binding.value}")
            client, streaming = [await connect(http, "sample", binding, streams) for streams in (False, True)]
            checks.equal("an echo ends its task", ("TASK_STATE_COMPLETED", "You said: hi"), said(await ask(client, "hi")))
            await turns(checks, client)
            await stream(checks, streaming)
            await subscribe(checks, http, binding)
            await push(checks, client, binding)
            await refused(checks, client)


run(main)
