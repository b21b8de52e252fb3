"""A2A 1.0 as PyPI a2a-sdk 1.3.0 speaks it, through every kind of conversation and every binding."""

import grpc
from a2a.client import ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import (
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from checks import STREAMED, agent, run
from google.protobuf.json_format import MessageToDict
from sdk_1_0 import ask, said, streamed


async def echo(checks, client):
    task = await ask(client, "hi")
    checks.equal("an echo ends its task", ("TASK_STATE_COMPLETED", "You said: hi"), said(task))
    got = await client.get_task(GetTaskRequest(id=task.id))
    checks.equal("a task is got as it was answered", task, got)
    got = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
    checks.equal("a history of length 0 is none", 0, len(got.history))
    return task


async def turns(checks, client):
    task = await ask(client, "-multi")
    checks.equal("-multi asks for input", "TASK_STATE_INPUT_REQUIRED", said(task)[0])
    again = await ask(client, "one", task)
    checks.equal("the conversation goes on in its task", task.id, again.id)
    checks.equal("each turn answers", ("TASK_STATE_INPUT_REQUIRED", "You said: one"), said(again))
    await ask(client, "two", task)
    ended = await ask(client, "end", task)
    checks.equal("end completes the task", ("TASK_STATE_COMPLETED", "All done."), said(ended))
    artifact = ended.artifacts[0]
    history = MessageToDict(artifact.parts[0].data)["history"]
    told = [message["text"] for message in history if message["from"]["role"] == "user"]
    checks.equal("its result is an artifact", ("Result", ["-multi", "one", "two", "end"]), (artifact.name, told))
    users = [m.parts[0].text for m in ended.history if m.role == Role.ROLE_USER]
    checks.equal("its history has what was said", ["-multi", "one", "two", "end"], users)


async def stream(checks, client):
    kinds, text, informative, last = await streamed(client, "-stream")
    checks.equal("a stream begins with the task", "task", kinds[0])
    checks.equal("its pieces make up the text", STREAMED, text)
    checks.equal("it informs", "Thinking about it.", (informative or [None])[0])
    checks.equal("it ends with the task's end", "TASK_STATE_COMPLETED", last)


async def cancel(checks, client):
    task = await ask(client, "-multi")
    canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
    checks.equal("a waiting task is canceled", "TASK_STATE_CANCELED", said(canceled)[0])


async def subscribe(checks, waiting, hanging):
    task = await ask(waiting, "hi", immediately=True)
    checks.equal("returnImmediately does not wait", False, task.status.state == TaskState.TASK_STATE_COMPLETED)
    states = []
    async for item in hanging.subscribe(SubscribeToTaskRequest(id=task.id)):
        if item.HasField("task"):
            states.append(("task", TaskState.Name(item.task.status.state)))
            await hanging.cancel_task(CancelTaskRequest(id=task.id))
        elif item.HasField("status_update"):
            states.append(("update", TaskState.Name(item.status_update.status.state)))
    checks.equal("a subscription begins with the task", ("task", "TASK_STATE_WORKING"), states[0])
    checks.equal("it ends when the task is canceled", ("update", "TASK_STATE_CANCELED"), states[-1])


async def tasks(checks, client):
    first = await ask(client, "-multi")
    listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
    checks.equal("a context's tasks are listed", [first.id], [task.id for task in listed.tasks])
    waiting = ListTasksRequest(status=TaskState.TASK_STATE_INPUT_REQUIRED, page_size=1)
    listed = await client.list_tasks(waiting)
    checks.equal("tasks are listed by state, newest first", [first.id], [task.id for task in listed.tasks])
    everything, token = [], ""
    while True:
        page = await client.list_tasks(ListTasksRequest(page_size=2, page_token=token))
        everything += [task.id for task in page.tasks]
        token = page.next_page_token
        if not token:
            break
    checks.equal("pages hold each task once", page.total_size, len(set(everything)))


async def errors(checks, client, streaming, ended):
    unknown = GetTaskRequest(id="unknown")
    await checks.refused("an unknown task is not found", TaskNotFoundError, client.get_task(unknown))
    await checks.refused("an ended task takes no message", UnsupportedOperationError, ask(client, "more", ended))
    over = CancelTaskRequest(id=ended.id)
    await checks.refused("an ended task is not canceled", TaskNotCancelableError, client.cancel_task(over))
    over = anext(streaming.subscribe(SubscribeToTaskRequest(id=ended.id)))
    await checks.refused("an ended task is not subscribed to", UnsupportedOperationError, over)


async def connect(name, binding, streaming):
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[binding],
        grpc_channel_factory=grpc.aio.insecure_channel,
    )
    return await create_client(agent(name), config)


async def converse(checks, binding):
    client, streaming = [await connect("sample", binding, streams) for streams in (False, True)]
    ended = await echo(checks, client)
    await turns(checks, client)
    await stream(checks, streaming)
    await cancel(checks, client)
    await subscribe(checks, await connect("hanging", binding, False), await connect("hanging", binding, True))
    await tasks(checks, client)
    await errors(checks, client, streaming, ended)
    endless = await ask(await connect("echo", binding, False), "hi")
    checks.equal("a bot without end waits", ("TASK_STATE_INPUT_REQUIRED", "Echo: hi"), said(endless))


async def main(checks):
    for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC):
        print(f"-- {binding.value}")
        await converse(checks, binding)


run(main)
