"""Talks to bots in A2A 0.3 as PyPI a2a-sdk 0.3.26 speaks it, and prints what it saw: see `talk.py`."""

from base64 import b64encode
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import (
    FilePart,
    FileWithBytes,
    Message,
    Part,
    Role,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
)
from talk import FILE, LIMIT_SECONDS, agent, run


class Client:
    """A client of one agent, with or without streams."""

    def __init__(self, client, streams):
        self.client, self.streams = client, streams

    @classmethod
    async def connect(cls, name, streaming):
        async def of(streams):
            http = httpx.AsyncClient(timeout=LIMIT_SECONDS)
            return await ClientFactory.connect(agent(name), ClientConfig(streaming=streams, httpx_client=http))

        return cls(await of(streaming), await of(True))

    async def say(self, text, task, context):
        """All that answers one message."""
        parts = [Part(root=TextPart(text=text))]
        if text == FILE.word:
            content = b64encode(FILE.content).decode()
            file = FileWithBytes(bytes=content, name=FILE.name, mime_type=FILE.media_type)
            parts.append(Part(root=FilePart(file=file)))
        ids = {"message_id": str(uuid4()), "task_id": task, "context_id": context}
        message = Message(role=Role.user, parts=parts, **ids)
        return [shown(*event) async for event in self.client.send_message(message)]

    async def task(self, task):
        return dump(await self.client.get_task(TaskQueryParams(id=task)))

    def follow(self, task):
        return (shown(*event) async for event in self.streams.resubscribe(TaskIdParams(id=task)))


def shown(task, update):
    return dump(update or task)


def dump(item):
    return item.model_dump(mode="json", by_alias=True, exclude_none=True)


def task_of(item):
    return item.get("taskId") or item["id"]


run(Client.connect, task_of)
