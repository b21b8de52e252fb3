"""What the clients on PyPI a2a-sdk 1.3.0 have in common, whichever version of A2A it speaks: it has the types of 1.0 alone."""

from uuid import uuid4

from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest, TaskState


def request(text, task=None, immediately=False, push=None):
    """A message, which goes on with a task if one is named."""
    message = Message(
        message_id=str(uuid4()),
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task.id if task else "",
        context_id=task.context_id if task else "",
    )
    configuration = SendMessageConfiguration(return_immediately=immediately, task_push_notification_config=push)
    return SendMessageRequest(message=message, configuration=configuration)


async def ask(client, *args, **kwargs):
    """The task that a send without a stream answers with."""
    (answer,) = [item async for item in client.send_message(request(*args, **kwargs))]
    return answer.task


def said(task):
    """The state, and what is said: the question of the status, or else the last artifact."""
    answer = task.artifacts[-1].parts if task.artifacts else []
    return TaskState.Name(task.status.state), "".join(p.text for p in task.status.message.parts or answer)


async def streamed(client, text):
    """What a stream says: its kinds of items, the text of its artifact, what it informs of, and its last state."""
    kinds, pieces, informative, last = [], "", [], None
    async for item in client.send_message(request(text)):
        kinds.append(item.WhichOneof("payload"))
        if item.HasField("artifact_update"):
            update = item.artifact_update
            piece = "".join(part.text for part in update.artifact.parts)
            pieces = pieces + piece if update.append else piece
        if item.HasField("status_update"):
            last = TaskState.Name(item.status_update.status.state)
            informative += [part.text for part in item.status_update.status.message.parts]
    return kinds, pieces, informative, last
