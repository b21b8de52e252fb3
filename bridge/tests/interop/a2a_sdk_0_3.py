"""A2A 0.3 as PyPI a2a-sdk 0.3.26 speaks it, through every kind of conversation that 0.3 has and every binding."""

from uuid import uuid4

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import (
    FilePart,
    FileWithBytes,
    Message,
    MessageSendConfiguration,
    Part,
    Role,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskQueryParams,
    TaskStatusUpdateEvent,
    TextPart,
    TransportProtocol,
)
from checks import LIMIT_SECONDS, STREAMED, agent, run

# How errors are told: over HTTP+JSON the SDK looks at nothing but the status, over gRPC at nothing.
NOT_FOUND, NOT_CANCELABLE, UNSUPPORTED = "not found", "not cancelable", "unsupported"
CODES = {
    TransportProtocol.jsonrpc: {NOT_FOUND: -32001, NOT_CANCELABLE: -32002, UNSUPPORTED: -32004},
    TransportProtocol.http_json: {NOT_FOUND: 404, NOT_CANCELABLE: 400, UNSUPPORTED: 400},
    TransportProtocol.grpc: {
        NOT_FOUND: "NOT_FOUND",
        NOT_CANCELABLE: "FAILED_PRECONDITION",
        UNSUPPORTED: "UNIMPLEMENTED",
    },
}


def message(text, task=None):
    return Message(
        message_id=str(uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task.id if task else None,
        context_id=task.context_id if task else None,
    )


async def connect(name, binding, streaming):
    http = httpx.AsyncClient(timeout=LIMIT_SECONDS)
    config = ClientConfig(
        streaming=streaming,
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_transports=[binding],
        use_client_preference=True,
    )
    return await ClientFactory.connect(agent(name), config)


async def ask(client, text, task=None, blocking=True):
    """The task that a send without a stream answers with."""
    settings = MessageSendConfiguration(blocking=blocking)
    sent = client.send_message(message(text, task), configuration=settings)
    ((answer, _),) = [event async for event in sent]
    return answer


def text_of(parts):
    return "".join(part.root.text for part in parts if part.root.kind == "text")


def said(task):
    """The state, and what is said: the question of the status, or else the last artifact."""
    answer = task.artifacts[-1].parts if task.artifacts else []
    # Over HTTP+JSON and gRPC the SDK makes an empty message of none.
    question = task.status.message.parts if task.status.message else []
    return task.status.state.value, text_of(question or answer)


async def echo(checks, binding, client):
    task = await ask(client, "hi")
    checks.equal("an echo ends its task", ("completed", "You said: hi"), said(task))
    got = await client.get_task(TaskQueryParams(id=task.id))
    checks.equal("a task is got as it was answered", task, got)
    got = await client.get_task(TaskQueryParams(id=task.id, history_length=0))
    # In protocol buffers 0 is what stands for no length.
    left = task.history if binding == TransportProtocol.grpc else []
    checks.equal("a history of length 0 is none", left, got.history or [])
    return task


async def turns(checks, client):
    task = await ask(client, "-multi")
    checks.equal("-multi asks for input", "input-required", said(task)[0])
    again = await ask(client, "one", task)
    checks.equal("the conversation goes on in its task", task.id, again.id)
    checks.equal("each turn answers", ("input-required", "You said: one"), said(again))
    await ask(client, "two", task)
    ended = await ask(client, "end", task)
    checks.equal("end completes the task", ("completed", "All done."), said(ended))
    artifact = ended.artifacts[0]
    history = artifact.parts[0].root.data["history"]
    told = [message["text"] for message in history if message["from"]["role"] == "user"]
    checks.equal("its result is an artifact", ("Result", ["-multi", "one", "two", "end"]), (artifact.name, told))
    users = [text_of(said.parts) for said in ended.history if said.role == Role.user]
    checks.equal("its history has what was said", ["-multi", "one", "two", "end"], users)


async def stream(checks, client):
    text, informative, kinds, last = "", [], [], None
    # The SDK adds later pieces to the artifact of the first, so each is read as it comes.
    async for task, update in client.send_message(message("-stream")):
        kinds.append(update.kind if update else "task")
        if isinstance(update, TaskArtifactUpdateEvent):
            piece = text_of(update.artifact.parts)
            text = text + piece if update.append else piece
        if isinstance(update, TaskStatusUpdateEvent):
            last = update
            informative += [text_of(update.status.message.parts)] if update.status.message else []
    checks.equal("a stream begins with the task", "task", kinds[0])
    checks.equal("its pieces make up the text", STREAMED, text)
    checks.equal("it informs", "Thinking about it.", (informative or [None])[0])
    checks.equal("it ends with the task's end", ("completed", True), (last.status.state.value, last.final))
    held = "".join(text_of(artifact.parts) for artifact in task.artifacts)
    checks.equal("the SDK's own copy of the task has the text", STREAMED, held)


async def files(checks, binding, client):
    content = "AAEC/w=="
    sent = message("look")
    sent.parts.append(Part(root=FilePart(file=FileWithBytes(bytes=content, mime_type="a/b"))))
    ((task, _),) = [event async for event in client.send_message(sent)]
    for other in CODES:
        got = await (await connect("sample", other, False)).get_task(TaskQueryParams(id=task.id))
        file = got.history[0].parts[-1].root.file
        checks.equal(f"a file sent over {binding.value} is the same over {other.value}", content, file.bytes)


async def cancel(checks, client):
    task = await ask(client, "-multi")
    canceled = await client.cancel_task(TaskIdParams(id=task.id))
    checks.equal("a waiting task is canceled", "canceled", said(canceled)[0])


async def resubscribe(checks, binding):
    # Over gRPC requests of 0.3 reach the first agent alone, which leaves a task open when it asks.
    asks = binding == TransportProtocol.grpc
    name, text, state = ("sample", "-multi", "input-required") if asks else ("hanging", "hi", "working")
    waiting, streaming = [await connect(name, binding, streams) for streams in (False, True)]
    task = await ask(waiting, text, blocking=asks)
    if not asks:
        checks.equal("a send that does not block returns at once", True, said(task)[0] in ("submitted", "working"))
    states = []
    async for known, update in streaming.resubscribe(TaskIdParams(id=task.id)):
        if not states:
            await waiting.cancel_task(TaskIdParams(id=task.id))
        states.append((known.status.state.value, bool(update and update.final)))
    checks.equal("a subscription begins with the task", (state, False), states[0])
    checks.equal("it ends when the task is canceled", ("canceled", True), states[-1])


async def errors(checks, binding, client, streaming, ended):
    codes = CODES[binding]
    unknown = client.get_task(TaskQueryParams(id="unknown"))
    await checks.refused("an unknown task is not found", codes[NOT_FOUND], unknown)
    await checks.refused("an ended task takes no message", codes[UNSUPPORTED], ask(client, "more", ended))
    over = client.cancel_task(TaskIdParams(id=ended.id))
    await checks.refused("an ended task is not canceled", codes[NOT_CANCELABLE], over)
    whole = [(known.id, update) async for known, update in streaming.resubscribe(TaskIdParams(id=ended.id))]
    checks.equal("the stream of an ended task is the task", [(ended.id, None)], whole)


async def converse(checks, binding):
    client, streaming = [await connect("sample", binding, streams) for streams in (False, True)]
    ended = await echo(checks, binding, client)
    await turns(checks, client)
    await stream(checks, streaming)
    await files(checks, binding, client)
    await cancel(checks, client)
    await resubscribe(checks, binding)
    await errors(checks, binding, client, streaming, ended)
    if binding != TransportProtocol.grpc:
        endless = await ask(await connect("echo", binding, False), "hi")
        checks.equal("a bot without end waits", ("input-required", "Echo: hi"), said(endless))


async def main(checks):
    for binding in CODES:
        print(f"-- {binding.value}")
        await converse(checks, binding)


run(main)
