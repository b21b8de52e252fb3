"""A bot on the Microsoft 365 Agents SDK for Python, without anything that knows of the bridge.

It echoes; `dialog` begins a dialog, `stream` is answered in pieces, `count` with how often it was said in this conversation, `ask` with a question,
`card` with two cards and suggested actions, `file` with two files, a file with what came of it, `correct` with what is
said, changed and taken back, `work` with a placeholder that becomes the answer, `worklater` with one that does so after
the turn, `later` with something that comes after the turn, `end` ends the conversation, `throw` fails. What comes after
a turn comes when it is asked for at /now/CONVERSATION: a bot cannot see when its turn is over.
"""

import asyncio
import sys
import time
from os import environ

from aiohttp import ClientSession
from aiohttp.web import Application, AppRunner, Response, TCPSite
from microsoft_agents.activity import (
    Activity,
    Attachment,
    CardAction,
    EndOfConversationCodes,
    SuggestedActions,
    load_configuration_from_env,
)
from microsoft_agents.authentication.msal import MsalConnectionManager
from microsoft_agents.hosting.aiohttp import (
    CloudAdapter,
    jwt_authorization_middleware,
    start_agent_process,
)
from microsoft_agents.hosting.core import (
    AgentApplication,
    Authorization,
    MemoryStorage,
    TurnContext,
    TurnState,
)

environ["CONNECTIONS__SERVICE_CONNECTION__SETTINGS__ANONYMOUS_ALLOWED"] = "True"
SETTINGS = load_configuration_from_env(environ)
STORAGE = MemoryStorage()
CONNECTIONS = MsalConnectionManager(**SETTINGS)
ADAPTER = CloudAdapter(connection_manager=CONNECTIONS)
AGENT = AgentApplication[TurnState](
    storage=STORAGE,
    adapter=ADAPTER,
    authorization=Authorization(STORAGE, CONNECTIONS, **SETTINGS),
    **SETTINGS,
)


async def stream(context: TurnContext, _: TurnState):
    answer = context.streaming_response
    answer.queue_informative_update("thinking")
    for word in ("one ", "two ", "three"):
        answer.queue_text_chunk(word)
        # Otherwise pieces are combined, all of them on a busy machine.
        await answer.wait_for_queue()
    await answer.end_stream()


async def count(context: TurnContext, state: TurnState):
    counted = state.get_value("ConversationState.counted", lambda: 0, target_cls=int) + 1
    state.set_value("ConversationState.counted", counted)
    await context.send_activity(f"{counted}")


async def ask(context: TurnContext, _: TurnState):
    await context.send_activity(Activity(type="message", text="Which one?", input_hint="expectingInput"))


def asks(text):
    return Activity(type="message", text=text, input_hint="expectingInput")


async def dialog(context: TurnContext, state: TurnState):
    state.set_value("ConversationState.order", WHAT)
    await context.send_activity(asks("What shall it be?"))


async def order(context: TurnContext, state: TurnState, going: str):
    """The next step of a dialog: what is ordered, then how many of it."""
    text = context.activity.text
    if going == WHAT:
        state.set_value("ConversationState.order", text)
        await context.send_activity(asks("How many?"))
    elif not text.isdigit():
        await context.send_activity(asks("A number, please."))
    else:
        state.set_value("ConversationState.order", "")
        await context.send_activity(f"{text} of {going}")


async def card(context: TurnContext, _: TurnState):
    hero = {"title": "A card", "buttons": [{"type": "imBack", "title": "Yes", "value": "yes"}]}
    adaptive = {"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": "Hi"}]}
    cards = [
        Attachment(content_type="application/vnd.microsoft.card.hero", content=hero),
        Attachment(content_type="application/vnd.microsoft.card.adaptive", content=adaptive),
    ]
    both = Activity(type="message", text="Two cards", attachment_layout="carousel", attachments=cards)
    await context.send_activity(both)
    colours = [CardAction(type="imBack", title=colour, value=colour) for colour in ("red", "blue")]
    suggested = SuggestedActions(actions=colours)
    await context.send_activity(Activity(type="message", text="Which colour?", suggested_actions=suggested))


async def file(context: TurnContext, _: TurnState):
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    files = [
        Attachment(name="pixel.gif", content_type="image/gif", content_url=pixel),
        Attachment(name="page.html", content_type="text/html", content_url="https://example.com/page.html"),
    ]
    await context.send_activity(Activity(type="message", text="Two files", attachments=files))


async def correct(context: TurnContext, _: TurnState):
    first = await context.send_activity("first")
    await context.update_activity(Activity(type="message", text="second", id=first.id))
    slip = await context.send_activity("a slip")
    await context.delete_activity(slip.id)


async def work(context: TurnContext, _: TurnState):
    placeholder = await context.send_activity("Working on it")
    await context.update_activity(Activity(type="message", text="The answer", id=placeholder.id))


async def work_later(context: TurnContext, _: TurnState):
    placeholder = await context.send_activity("Working on it")
    continuation = context.activity.get_conversation_reference().get_continuation_activity()
    identity = context.identity

    async def answer():
        update = Activity(type="message", text="The answer", id=placeholder.id)
        await ADAPTER.continue_conversation_with_claims(
            identity, continuation, lambda turn: turn.update_activity(update)
        )

    PROMISED[context.activity.conversation.id] = answer


async def later(context: TurnContext, _: TurnState):
    continuation = context.activity.get_conversation_reference().get_continuation_activity()
    identity = context.identity

    async def speak():
        await ADAPTER.continue_conversation_with_claims(
            identity, continuation, lambda turn: turn.send_activity("here I am")
        )

    await context.send_activity("I will call back")
    PROMISED[context.activity.conversation.id] = speak


async def now(request):
    await PROMISED.pop(request.match_info["conversation"])()
    return Response()


async def end(context: TurnContext, _: TurnState):
    await context.send_activity("bye")
    code = EndOfConversationCodes.completed_successfully
    await context.send_activity(Activity(type="endOfConversation", code=code))


async def throw(_: TurnContext, __: TurnState):
    raise ValueError("as I was told")


async def received(context: TurnContext, attachment: Attachment):
    async with ClientSession() as http, http.get(attachment.content_url) as answer:
        size = len(await answer.read())
    await context.send_activity(f"{attachment.name} is {attachment.content_type} of {size} bytes")


async def block(context: TurnContext, _: TurnState):
    # As bots do that call a model without `await`.
    time.sleep(6)
    await context.send_activity("At last.")


async def echo(context: TurnContext, state: TurnState):
    if going := state.get_value("ConversationState.order", lambda: "", target_cls=str):
        return await order(context, state, going)
    attached = [attachment for attachment in context.activity.attachments or [] if attachment.content_url]
    if attached:
        return await received(context, attached[0])
    await context.send_activity(f"Echo: {context.activity.text}")


PROMISED = {}
# What a dialog waits for at first.
WHAT = "?"
for word, does in {"stream": stream, "count": count, "ask": ask, "dialog": dialog, "card": card, "file": file,
                   "correct": correct, "worklater": work_later, "work": work, "later": later, "end": end, "throw": throw,
                   "block": block}.items():
    AGENT.message(word)(does)
AGENT.activity("message")(echo)


async def main():
    app = Application(middlewares=[jwt_authorization_middleware])
    app["agent_configuration"] = CONNECTIONS.get_default_connection_configuration()
    app.router.add_post("/api/messages", lambda request: start_agent_process(request, AGENT, ADAPTER))
    app.router.add_post("/now/{conversation}", now)
    runner = AppRunner(app)
    await runner.setup()
    site = TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
