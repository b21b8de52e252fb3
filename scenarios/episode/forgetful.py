"""A purple agent that asks for its evaluation itself, and needs to be told everything twice.

It shows: the extension for acknowledgements, which Green's card declares. What was not acknowledged is sent
again, with the same messageId; the second copy is acknowledged by a message of its own, while Green's task
goes on.

    python scenarios/episode/forgetful.py http://127.0.0.1:9009/
"""

import asyncio
import sys
from collections import Counter
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_data_parts, new_data_part, new_text_part
from a2a.types import Message, Role, SendMessageRequest, TaskState

from adder import add_up

ACKNOWLEDGE = "urn:a2a-evaluation:acknowledge:v1"


def message(part, **members) -> Message:
    return Message(
        message_id=uuid4().hex, role=Role.ROLE_USER, parts=[part], extensions=[ACKNOWLEDGE], **members
    )


async def acknowledge(client: Client, told: Message) -> None:
    ids = new_data_part({"acknowledged": [told.message_id]})
    answer = message(ids, context_id=told.context_id, reference_task_ids=[told.task_id])
    async for _ in client.send_message(SendMessageRequest(message=answer)):
        pass


async def main(green: str) -> str:
    """The state in which the evaluation ended."""
    copies, state, work = Counter(), "none", None
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        card = await A2ACardResolver(http, green).get_agent_card()
        assert ACKNOWLEDGE in [extension.uri for extension in card.capabilities.extensions]
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        ready = SendMessageRequest(message=message(new_text_part("ready for evaluation")))
        async for item in client.send_message(ready):
            if item.WhichOneof("payload") != "status_update":
                continue
            status = item.status_update.status
            state = TaskState.Name(status.state)
            told = status.message
            copies[told.message_id] += 1
            if not told.message_id or copies[told.message_id] != 2:
                continue
            await acknowledge(client, told)
            for data in get_data_parts(told.parts):
                if "mcpServers" in data:
                    [server] = data["mcpServers"].values()
                    work = asyncio.create_task(add_up(server))
    if work:
        await work
    return state


if __name__ == "__main__":
    ended = asyncio.run(main(sys.argv[1]))
    sys.exit(0 if ended == "TASK_STATE_COMPLETED" else 1)
