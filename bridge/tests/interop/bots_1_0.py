"""Talks to bots in A2A 1.0 as PyPI a2a-sdk 1.3.0 speaks it, and prints what it saw: see `talk.py`."""

from uuid import uuid4

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from google.protobuf.json_format import MessageToDict
from talk import FILE, LIMIT_SECONDS, agent, run


class Client:
    """A client of one agent, with or without streams."""

    def __init__(self, client, streams):
        self.client, self.streams = client, streams

    @classmethod
    async def connect(cls, name, streaming):
        async def of(streams):
            http = httpx.AsyncClient(timeout=LIMIT_SECONDS)
            return await create_client(agent(name), ClientConfig(streaming=streams, httpx_client=http))

        return cls(await of(streaming), await of(True))

    async def say(self, text, task, context):
        """All that answers one message."""
        parts = [Part(text=text)]
        if text == FILE.word:
            parts.append(Part(raw=FILE.content, filename=FILE.name, media_type=FILE.media_type))
        ids = {"message_id": str(uuid4()), "task_id": task or "", "context_id": context or ""}
        message = Message(role=Role.ROLE_USER, parts=parts, **ids)
        return [shown(item) async for item in self.client.send_message(SendMessageRequest(message=message))]

    async def task(self, task):
        return shown(await self.client.get_task(GetTaskRequest(id=task)))

    def follow(self, task):
        return (shown(item) async for item in self.streams.subscribe(SubscribeToTaskRequest(id=task)))


def shown(item):
    return MessageToDict(item)


def task_of(item):
    (body,) = item.values()
    return body.get("taskId") or body["id"]


run(Client.connect, task_of)
