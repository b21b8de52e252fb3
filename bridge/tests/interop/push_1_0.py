"""Push notifications as PyPI a2a-sdk 1.3.0 asks for them over every binding, and reads them."""

import grpc
from a2a.client import ClientConfig, create_client
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from checks import agent, run
from google.protobuf.json_format import ParseDict
from sdk_1_0 import ask
from webhook import Webhook


def config(webhook, **fields):
    bearer = AuthenticationInfo(scheme="Bearer", credentials="secret")
    return TaskPushNotificationConfig(url=webhook.url, token="token", authentication=bearer, **fields)


def read(got):
    """The items, each of which has to be one that the SDK knows."""
    return [ParseDict(body, StreamResponse()) for _, body in got]


def state(item):
    return TaskState.Name(item.status_update.status.state)


def is_over(got):
    return any(state(item) == "TASK_STATE_COMPLETED" for item in read(got))


async def with_a_message(checks, client):
    webhook = Webhook()
    task = await ask(client, "-stream", push=config(webhook))
    got = await webhook.wait(is_over)
    items = read(got)
    checks.equal("the first is that the agent works", "TASK_STATE_WORKING", state(items[0]))
    checks.equal("the last is the task's end", task.status, items[-1].status_update.status)
    ids = {getattr(item, item.WhichOneof("payload")).task_id for item in items}
    checks.equal("all are the task's", {task.id}, ids)
    seen = {(h["content-type"], h["authorization"], h["x-a2a-notification-token"]) for h, _ in got}
    checks.equal("each has type, credentials and token", {("application/a2a+json", "Bearer secret", "token")}, seen)


async def of_a_task(checks, client):
    webhook = Webhook()
    task = await ask(client, "-multi")
    made = await client.create_task_push_notification_config(config(webhook, task_id=task.id))
    checks.equal("a setting gets an id", True, bool(made.id))
    named = GetTaskPushNotificationConfigRequest(task_id=task.id, id=made.id)
    got = await client.get_task_push_notification_config(named)
    checks.equal("it is got as it was made", made, got)
    of_task = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    listed = await client.list_task_push_notification_configs(of_task)
    checks.equal("it is listed", [made], list(listed.configs))
    await ask(client, "one", task)
    await webhook.wait(lambda got: any(state(item) == "TASK_STATE_INPUT_REQUIRED" for item in read(got)))
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=made.id)
    await client.delete_task_push_notification_config(gone)
    count = len(webhook.got)
    await ask(client, "end", task)
    checks.equal("nothing comes after it was removed", count, len(webhook.got))
    missing = client.get_task_push_notification_config(named)
    await checks.refused("it is not found any more", TaskNotFoundError, missing)
    unsafe = TaskPushNotificationConfig(task_id=task.id, url="https://169.254.169.254/latest")
    unsafe = client.create_task_push_notification_config(unsafe)
    await checks.refused("metadata of clouds are no webhook", InvalidParamsError, unsafe)


async def main(checks):
    for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC):
        print(f"-- {binding.value}")
        settings = ClientConfig(
            streaming=False,
            supported_protocol_bindings=[binding],
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        client = await create_client(agent("sample"), settings)
        await with_a_message(checks, client)
        await of_a_task(checks, client)


run(main)
