"""AG2's remote agent: an answer is what its artifacts say, and a question goes to the hook for its user."""

from ag2 import Agent
from ag2.a2a import A2AConfig
from ag2.events import HumanMessage
from ag2.exceptions import HumanInputFailedError

from checks import agent, run
from shown import ASKING, each, once


async def answers(remote, said):
    """What it says to each message, in one conversation."""
    reply, shown = remote, []
    for text, _ in said:
        reply = await reply.ask(text)
        shown.append(reply.response.content)
    return shown


async def questions(remote, said):
    """What its user is asked after each message, in one task that never ends."""
    shown, texts = [], [text for text, _ in said]

    def ask(question):
        shown.append(question.content)
        return HumanMessage(texts[len(shown)])

    try:
        await remote.ask(texts[0], hitl_hook=ask)
    except HumanInputFailedError:
        pass  # There is nothing more to say.
    return shown


async def talk(checks):
    async def to(name, said):
        # Without a stream it polls, and shows an answer twice if a poll sees the message before the artifact: see KNOWN.md.
        remote = Agent("remote", config=A2AConfig(card_url=agent(name), streaming=True))
        shown = await (questions if name == ASKING else answers)(remote, said)
        for (_, answer), seen in zip(said, shown, strict=True):
            once(checks, name, answer, seen)

    await each(to)


run(talk)
