"""PyPI a2a-sdk 1.3.0 follows a task at one bridge until that one stops, and then at another one, to the task's end.

Arguments: the addresses of the agent at both bridges. Each line says what was seen.
"""

import asyncio
import sys

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import SubscribeToTaskRequest, TaskState
from checks import LIMIT_SECONDS
from sdk_1_0 import request


def tell(*words):
    print(*words, flush=True)


async def follow(items):
    """The id and the last state of a task, as far as its stream goes; says when it has begun and what ended it."""
    task, state = None, None
    try:
        async for item in items:
            body = getattr(item, item.WhichOneof("payload"))
            if task is None:
                task = body.id
                tell("following")
            if hasattr(body, "status"):
                state = TaskState.Name(body.status.state)
    except Exception as error:  # Whatever the client makes of it, it is what its user sees.
        tell("ended by", type(error).__name__, error)
    return task, state


async def main(one, other):
    async def client(url):
        http = httpx.AsyncClient(timeout=LIMIT_SECONDS)
        return await create_client(url, ClientConfig(streaming=True, httpx_client=http))

    first, second = await client(one), await client(other)
    task, state = await follow(first.send_message(request("hello")))
    tell("left in", state)
    _, state = await follow(second.subscribe(SubscribeToTaskRequest(id=task)))
    tell("the end is", state)


asyncio.run(main(*sys.argv[1:]))
