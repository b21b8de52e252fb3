"""A bot on the Bot Framework SDK for Python, without anything that knows of the bridge.

It echoes; `count` is answered with how often it was said in this conversation, `ask` with a question, `card` with two
cards and suggested actions, `file` with two files, `upload` with one that is uploaded before, a file with what came of it,
`correct` with what is said, changed and taken back, `dialog` begins a dialog, `later` is answered with something that comes
after the turn when it is asked for at /now/CONVERSATION, `end` ends the conversation, `throw` fails.
"""

import asyncio
import sys

from aiohttp import ClientSession
from aiohttp.web import Application, AppRunner, Response, TCPSite
from botbuilder.core import (
    ActivityHandler,
    CardFactory,
    ConversationState,
    MemoryStorage,
    MessageFactory,
    TurnContext,
)
from botbuilder.dialogs import ComponentDialog, DialogSet, WaterfallDialog
from botbuilder.dialogs.prompts import NumberPrompt, PromptOptions, TextPrompt
from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
)
from botbuilder.schema import (
    Activity,
    Attachment,
    AttachmentData,
    CardAction,
    EndOfConversationCodes,
    HeroCard,
    SuggestedActions,
)

ADAPTER = CloudAdapter(ConfigurationBotFrameworkAuthentication({}))
STATE = ConversationState(MemoryStorage())
COUNTED = STATE.create_property("counted")
DIALOGS = DialogSet(STATE.create_property("dialogs"))
PROMISED = {}


async def ask_what(step):
    return await step.prompt("what", PromptOptions(MessageFactory.text("What shall it be?")))


async def ask_how_many(step):
    step.values["what"] = step.result
    question, again = MessageFactory.text("How many?"), MessageFactory.text("A number, please.")
    return await step.prompt("many", PromptOptions(question, again))


async def confirm(step):
    await step.context.send_activity(f"{step.result} of {step.values['what']}")
    return await step.end_dialog()


ORDER = ComponentDialog("order")
for dialog in (TextPrompt("what"), NumberPrompt("many"), WaterfallDialog("steps", [ask_what, ask_how_many, confirm])):
    ORDER.add_dialog(dialog)
ORDER.initial_dialog_id = "steps"
DIALOGS.add(ORDER)


async def count(context):
    counted = await COUNTED.get(context, lambda: 0) + 1
    await COUNTED.set(context, counted)
    await context.send_activity(f"{counted}")


async def ask(context):
    await context.send_activity(Activity(type="message", text="Which one?", input_hint="expectingInput"))


async def card(context):
    hero = CardFactory.hero_card(
        HeroCard(title="A card", buttons=[CardAction(type="imBack", title="Yes", value="yes")])
    )
    body = [{"type": "TextBlock", "text": "Hi"}]
    adaptive = CardFactory.adaptive_card({"type": "AdaptiveCard", "version": "1.5", "body": body})
    await context.send_activity(MessageFactory.carousel([hero, adaptive], "Two cards"))
    colours = [CardAction(type="imBack", title=colour, value=colour) for colour in ("red", "blue")]
    question = MessageFactory.text("Which colour?")
    question.suggested_actions = SuggestedActions(actions=colours)
    await context.send_activity(question)


async def file(context):
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    files = [
        Attachment(name="pixel.gif", content_type="image/gif", content_url=pixel),
        Attachment(name="page.html", content_type="text/html", content_url="https://example.com/page.html"),
    ]
    await context.send_activity(MessageFactory.list(files, "Two files"))


async def upload(context):
    client = context.turn_state[CloudAdapter.BOT_CONNECTOR_CLIENT_KEY]
    note = AttachmentData(name="note.txt", type="text/plain", original_base64=b"Uploaded.")
    uploaded = await client.conversations.upload_attachment(context.activity.conversation.id, note)
    url = f"{context.activity.service_url.rstrip('/')}/v3/attachments/{uploaded.id}/views/original"
    attached = Attachment(name=note.name, content_type=note.type, content_url=url)
    await context.send_activity(MessageFactory.list([attached], "One file"))


async def correct(context):
    first = await context.send_activity("first")
    await context.update_activity(Activity(type="message", text="second", id=first.id))
    slip = await context.send_activity("a slip")
    await context.delete_activity(slip.id)


async def dialog(context):
    await (await DIALOGS.create_context(context)).begin_dialog("order")


async def later(context):
    reference = TurnContext.get_conversation_reference(context.activity)

    async def speak():
        await ADAPTER.continue_conversation(reference, lambda turn: turn.send_activity("here I am"), "")

    await context.send_activity("I will call back")
    PROMISED[context.activity.conversation.id] = speak


async def now(request):
    await PROMISED.pop(request.match_info["conversation"])()
    return Response()


async def end(context):
    await context.send_activity("bye")
    await context.send_activity(
        Activity(type="endOfConversation", code=EndOfConversationCodes.completed_successfully)
    )


async def throw(_):
    raise ValueError("as I was told")


DOES = {does.__name__: does for does in (count, ask, card, file, upload, correct, dialog, later, end, throw)}


async def received(context, attachment):
    async with ClientSession() as http, http.get(attachment.content_url) as answer:
        size = len(await answer.read())
    await context.send_activity(f"{attachment.name} is {attachment.content_type} of {size} bytes")


class Bot(ActivityHandler):
    async def on_message_activity(self, turn_context):
        activity = turn_context.activity
        going = await DIALOGS.create_context(turn_context)
        attached = [attachment for attachment in activity.attachments or [] if attachment.content_url]
        if going.active_dialog:
            await going.continue_dialog()
        elif attached:
            await received(turn_context, attached[0])
        elif activity.text in DOES:
            await DOES[activity.text](turn_context)
        else:
            await turn_context.send_activity(f"Echo: {activity.text}")
        await STATE.save_changes(turn_context)


async def main():
    bot = Bot()
    app = Application()
    app.router.add_post("/api/messages", lambda request: ADAPTER.process(request, bot))
    app.router.add_post("/now/{conversation}", now)
    runner = AppRunner(app)
    await runner.setup()
    site = TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
