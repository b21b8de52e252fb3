"""What the clients that talk to bots have in common.

Each is started with the bridge's address and with the conversations to have, as JSON: a list of `{"name", "agent", "says"}`,
and `until` with the bot's address as `bot` where the bot says that after its turn, when it is asked for. It has each of them waiting and streaming, all at once, and prints what
it saw as JSON: `{NAME: {"waiting": {"answers": [[...], ...], "task": ...}, "streaming": ...}}`.
"""

import asyncio
import json
import sys
from types import SimpleNamespace

import httpx

# Longer than any conversation here takes; a client that waits for ever would hide what it waits for.
LIMIT_SECONDS = 600

# A message of this word has this file with it.
FILE = SimpleNamespace(word="look", name="note.txt", media_type="text/plain", content=b"Read this.")


def agent(name):
    """The address of one of the bridge's agents."""
    return f"{sys.argv[1]}/a2a/{name}"


async def converse(connect, task_of, conversation, streaming):
    client = await connect(conversation["agent"], streaming)
    answers, task, context = [], None, None
    for text in conversation["says"]:
        answers.append(await client.say(text, task, context))
        told = await client.task(task_of(answers[-1][0]))
        # An ended task takes no message: the conversation goes on in its context.
        task, context = None if has_ended(told) else told["id"], told["contextId"]
    if until := conversation.get("until"):
        # Its turn is over: the client has its answer.
        await ask_for(conversation["bot"], told["contextId"])
        await hear(client, told, until, streaming)
    return {"answers": answers, "task": await client.task(told["id"])}


async def ask_for(bot, conversation):
    async with httpx.AsyncClient(timeout=LIMIT_SECONDS) as http:
        (await http.post(f"{bot}/now/{conversation}")).raise_for_status()


async def hear(client, told, until, streaming):
    """Waits until the bot has said it and rests, which may be before a stream of the task is open."""
    if streaming:
        async for item in client.follow(told["id"]):
            if until in json.dumps(item):
                break
    while not rests_with(until, await client.task(told["id"])):
        await asyncio.sleep(0.05)


def rests_with(until, task):
    resting = task["status"]["state"] in ("TASK_STATE_INPUT_REQUIRED", "input-required")
    return (resting or has_ended(task)) and until in json.dumps(task)


def has_ended(task):
    return task["status"]["state"].removeprefix("TASK_STATE_").lower() in ("completed", "failed", "canceled", "rejected")


def run(connect, task_of):
    """Has all conversations, and prints what was seen."""

    async def main():
        conversations = json.loads(sys.argv[2])
        ways = {"waiting": False, "streaming": True}
        talks = [converse(connect, task_of, told, way) for told in conversations for way in ways.values()]
        seen = iter(await asyncio.gather(*talks))
        return {told["name"]: {way: next(seen) for way in ways} for told in conversations}

    print(json.dumps(asyncio.run(asyncio.wait_for(main(), LIMIT_SECONDS))))
