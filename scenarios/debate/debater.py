"""A purple agent that argues one side of a debate, on A2A 0.3.

It shows: an answer as a Task (submitted, working, artifact, completed), streamed or not, and a
memory per contextId. A message is lines of "Topic: ..." and, once somebody has spoken,
"Opponent: ..."; the speech takes up the longest word that only the opponent has used so far.

    python scenarios/debate/debater.py --role pro --port 9019
"""

import re
from collections import defaultdict

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import AgentSkill, Part, TextPart, UnsupportedOperationError
from a2a.utils import new_task
from a2a.utils.errors import ServerError

from common import command_line, serve

SPEECHES = {
    "pro": [
        "{topic} Yes, because accountability earns the trust of those who cannot look inside.",
        "Call it {word}, yet evidence from aviation shows that transparency saves lives.",
        "Grant {word} their due: whoever takes the profit owes the responsibility.",
    ],
    "con": [
        "{topic} No: {word} sounds fine, but it arrives as bureaucracy.",
        "As for {word}, here is an example: small laboratories pay for it, large ones shrug.",
        "And {word}? After all these words nobody has named the inspectors.",
    ],
}


class Debater(AgentExecutor):
    """Speaks for one side, one speech a message."""

    def __init__(self, role: str) -> None:
        self.speeches = SPEECHES[role]
        self.spoken: dict[str, list[str]] = defaultdict(list)  # by contextId

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        speech = self.answer(context.get_user_input(), self.spoken[task.context_id])
        await updater.add_artifact([Part(TextPart(text=speech))], name="Argument")
        await updater.complete()

    def answer(self, prompt: str, spoken: list[str]) -> str:
        """The next speech of a conversation, which it remembers."""
        said = dict(re.findall(r"^(Topic|Opponent): (.*)$", prompt, re.MULTILINE))
        topic = said.get("Topic", prompt)
        word = new_word(said.get("Opponent", ""), known=[topic, *spoken])
        speech = self.speeches[len(spoken) % len(self.speeches)].format(topic=topic, word=word)
        spoken.append(speech)
        return speech

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise ServerError(UnsupportedOperationError())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def new_word(text: str, known: list[str]) -> str:
    """The longest word of `text` that is not among the known texts."""
    return max((word for word in words(text) if word not in words(" ".join(known))), key=len, default="that")


if __name__ == "__main__":
    parser = command_line("A debater on A2A 0.3.")
    parser.add_argument("--role", choices=SPEECHES, required=True)
    args = parser.parse_args()
    serve(
        Debater(args.role),
        args,
        name=f"Debater ({args.role})",
        skill=AgentSkill(
            id="argue",
            name="Argue",
            description=f"Argues the {args.role} side of a debate.",
            tags=["debate"],
            examples=["Topic: Should artificial intelligence be regulated?"],
        ),
    )
