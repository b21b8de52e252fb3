"""Push notifications as PyPI a2a-sdk 0.3.26 asks for them, over every binding, and reads them."""

from uuid import uuid4

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
    TransportProtocol,
)
from checks import LIMIT_SECONDS, agent, run
from webhook import Webhook


def config(webhook):
    basic = PushNotificationAuthenticationInfo(schemes=["Basic"], credentials="bWU6d29yZA==")
    return PushNotificationConfig(url=webhook.url, token="token", authentication=basic)


async def ask(client, text, task=None):
    message = Message(
        message_id=str(uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task.id if task else None,
        context_id=task.context_id if task else None,
    )
    settings = MessageSendConfiguration(blocking=True)
    ((answer, _),) = [event async for event in client.send_message(message, configuration=settings)]
    return answer


def read(got):
    """The tasks, each of which has to be one that the SDK knows."""
    return [Task.model_validate(body) for _, body in got]


def came_to(state):
    return lambda got: any(task.status.state.value == state for task in read(got))


async def with_a_message(checks, binding):
    webhook = Webhook()
    client = await connect(binding, config(webhook))
    task = await ask(client, "-stream")
    got = await webhook.wait(came_to("completed"))
    tasks = read(got)
    checks.equal("the first is that the agent works", "working", tasks[0].status.state.value)
    # Webhooks get the JSON of JSON-RPC. Of what it reads over the others the SDK leaves out times.
    json_rpc = await connect(TransportProtocol.jsonrpc)
    ended = await json_rpc.get_task(TaskQueryParams(id=task.id))
    checks.equal("the last is the task as it ended", ended, tasks[-1])
    seen = {(h["content-type"], h["authorization"], h["x-a2a-notification-token"]) for h, _ in got}
    checks.equal("each has type, credentials and token", {("application/json", "Basic bWU6d29yZA==", "token")}, seen)


async def of_a_task(checks, client):
    webhook = Webhook()
    task = await ask(client, "-multi")
    asked = TaskPushNotificationConfig(task_id=task.id, push_notification_config=config(webhook))
    made = await client.set_task_callback(asked)
    checks.equal("a setting gets the task's id", task.id, made.push_notification_config.id)
    got = await client.get_task_callback(GetTaskPushNotificationConfigParams(id=task.id))
    checks.equal("it is got as it was made", made, got)
    await ask(client, "one", task)
    got = await webhook.wait(came_to("input-required"))
    checks.equal("its turn is told", task.id, read(got)[-1].id)


async def connect(binding, *webhooks):
    """A client that names a webhook in each of its messages. Over gRPC the SDK cannot name one in a single message."""
    settings = ClientConfig(
        streaming=False,
        httpx_client=httpx.AsyncClient(timeout=LIMIT_SECONDS),
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_transports=[binding],
        use_client_preference=True,
        push_notification_configs=list(webhooks),
    )
    return await ClientFactory.connect(agent("sample"), settings)


async def main(checks):
    for binding in TransportProtocol:
        print(f"-- {binding.value}")
        await with_a_message(checks, binding)
        await of_a_task(checks, await connect(binding))


run(main)
