"""A bot on the Teams SDK for Python, without anything that knows of the bridge.

It echoes with `reply`, which quotes the message; `dialog` begins a dialog, `stream` is answered in pieces, `count` with how
often it was said in this conversation, `ask` with a question, `card` with two cards and suggested actions, `file` with two
files, a file with what came of it, `correct` with what is said, changed and taken back, `later` with something that comes
after the turn when it is asked for at /now/CONVERSATION, `end` says good-bye (this SDK cannot end a conversation), `throw`
fails.
"""

import asyncio
import sys
from collections import Counter

import httpx
import uvicorn
from fastapi import FastAPI
from microsoft_teams.api import Attachment, CardAction, MessageActivity, MessageActivityInput, SuggestedActions
from microsoft_teams.apps import ActivityContext, App, FastAPIAdapter

SERVER = FastAPI()
APP = App(http_server_adapter=FastAPIAdapter(app=SERVER), dangerously_allow_unauthenticated_requests=True)
PROMISED, ORDERS, COUNTS = {}, {}, Counter()
# What a dialog waits for at first.
WHAT = "?"


def message(text, **members):
    return MessageActivityInput(text=text, **members)


def asks(text):
    return message(text, input_hint="expectingInput")


async def stream(context):
    context.stream.update("thinking")
    for word in ("one ", "two ", "three"):
        sent = context.stream.sequence
        context.stream.emit(word)
        # Otherwise pieces are combined, all of them on a busy machine.
        while context.stream.sequence == sent:
            await asyncio.sleep(0.02)


async def count(context):
    COUNTS[context.activity.conversation.id] += 1
    await context.send(f"{COUNTS[context.activity.conversation.id]}")


async def ask(context):
    await context.send(asks("Which one?"))


async def dialog(context):
    ORDERS[context.activity.conversation.id] = WHAT
    await context.send(asks("What shall it be?"))


async def order(context, going):
    """The next step of a dialog: what is ordered, then how many of it."""
    text, conversation = context.activity.text, context.activity.conversation.id
    if going == WHAT:
        ORDERS[conversation] = text
        await context.send(asks("How many?"))
    elif not text.isdigit():
        await context.send(asks("A number, please."))
    else:
        del ORDERS[conversation]
        await context.send(f"{text} of {going}")


async def card(context):
    hero = {"title": "A card", "buttons": [{"type": "imBack", "title": "Yes", "value": "yes"}]}
    adaptive = {"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": "Hi"}]}
    cards = [
        Attachment(content_type="application/vnd.microsoft.card.hero", content=hero),
        Attachment(content_type="application/vnd.microsoft.card.adaptive", content=adaptive),
    ]
    await context.send(message("Two cards", attachment_layout="carousel", attachments=cards))
    colours = [CardAction(type="imBack", title=colour, value=colour) for colour in ("red", "blue")]
    await context.send(message("Which colour?", suggested_actions=SuggestedActions(to=[], actions=colours)))


async def file(context):
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    files = [
        Attachment(name="pixel.gif", content_type="image/gif", content_url=pixel),
        Attachment(name="page.html", content_type="text/html", content_url="https://example.com/page.html"),
    ]
    await context.send(message("Two files", attachments=files))


async def correct(context):
    first = await context.send("first")
    await context.send(message("second", id=first.id))
    slip = await context.send("a slip")
    await context.api.conversations.delete_activity(context.activity.conversation.id, slip.id)


async def later(context):
    await context.send("I will call back")
    PROMISED[context.activity.conversation.id] = lambda: context.send("here I am")


async def end(context):
    await context.send("bye")


async def throw(_):
    raise ValueError("as I was told")


DOES = {"stream": stream, "count": count, "ask": ask, "dialog": dialog, "card": card, "file": file, "correct": correct,
        "later": later, "end": end, "throw": throw}


@APP.on_message
async def heard(context: ActivityContext[MessageActivity]):
    text = context.activity.text
    if going := ORDERS.get(context.activity.conversation.id):
        await order(context, going)
    elif does := DOES.get(text):
        await does(context)
    elif attached := [one for one in context.activity.attachments or [] if one.content_url]:
        async with httpx.AsyncClient() as http:
            size = len((await http.get(attached[0].content_url)).content)
        await context.send(f"{attached[0].name} is {attached[0].content_type} of {size} bytes")
    else:
        await context.reply(f"Echo: {text}")


@SERVER.post("/now/{conversation}")
async def now(conversation: str):
    await PROMISED.pop(conversation)()


async def main():
    await APP.initialize()
    server = uvicorn.Server(uvicorn.Config(SERVER, host="127.0.0.1", port=0, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    await serving


asyncio.run(main())
