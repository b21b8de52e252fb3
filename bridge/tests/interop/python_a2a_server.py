"""An agent built with PyPI python-a2a 0.5.10, for our discovery and invocation.

It is a club's agent as the SDK makes it, with one skill whose card has a schema of its parameters, which the
SDK's own class has no field for. It says where it listens as every program here does.
"""

import sys

from python_a2a import (
    A2AServer,
    AgentCard,
    AgentSkill,
    FunctionResponseContent,
    Message,
    MessageRole,
    TextContent,
)
from python_a2a.server.http import create_flask_app
from werkzeug.serving import make_server

SKILL = "check_team_availability_v1"
PARAMETERS = {
    "type": "object",
    "properties": {"age": {"type": "integer", "description": "Age of the child in years."}},
    "required": ["age"],
}
TEAMS = {10: {"has_vacancy": True, "team_name": "U10 Lions", "contact": "coach@example.com"}}


class TypedSkill(AgentSkill):
    """A skill that says what it takes."""

    def to_dict(self):
        return {**super().to_dict(), "parameters": PARAMETERS}


class Club(A2AServer):
    """Answers a call with data, and words with a question."""

    def handle_message(self, message):
        if message.content.type != "function_call":
            return Message(content=TextContent(text="How old is the child?"), role=MessageRole.AGENT)
        parameters = {parameter.name: parameter.value for parameter in message.content.parameters}
        team = TEAMS.get(parameters["age"], {"has_vacancy": False})
        answer = FunctionResponseContent(name=message.content.name, response=team)
        return Message(content=answer, role=MessageRole.AGENT)


def main():
    skill = TypedSkill(id=SKILL, name="TeamVacancyCheck", description="Checks for spaces.")
    card = AgentCard(name="Club", description="A club's agent", url="URL", version="1.0.1", skills=[skill])
    server = make_server("127.0.0.1", 0, create_flask_app(Club(agent_card=card, google_a2a_compatible=True)))
    card.url = f"http://127.0.0.1:{server.port}"
    print(f"listening on {card.url}", file=sys.stderr, flush=True)
    server.serve_forever()


main()
