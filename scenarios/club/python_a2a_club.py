"""The club's agent on PyPI's python-a2a, the SDK of the design that this folder follows.

    python scenarios/club/python_a2a_club.py --port 9020
"""

import argparse
import logging
import tempfile
from pathlib import Path

from python_a2a import A2AServer, AgentCard, AgentSkill, TaskState, TaskStatus, run_server

import skills

PARAMETERS = {
    "type": "object",
    "properties": {"age": {"type": "integer", "description": "Age of the child in years."}},
    "required": ["age"],
}


class SkillWithParameters(AgentSkill):
    """A skill whose card says what it takes; the SDK has no field for it."""

    def to_dict(self):
        return super().to_dict() | {"parameters": PARAMETERS}


class Club(A2AServer):
    """Says whether a team has a place."""

    def __init__(self, database, **more):
        super().__init__(**more)
        self.database = database

    def handle_task(self, task):
        # The SDK makes of a message one content: the call of a function, or the first text.
        content = task.message["content"]
        if "parameters" in content:
            age = {one["name"]: one["value"] for one in content["parameters"]}["age"]
        else:
            age = skills.age_told(content["text"])
        result, words = skills.check_team_availability(self.database, age)
        task.artifacts = [{"parts": [{"type": "text", "text": words}, {"type": "data", "data": result}]}]
        task.status = TaskStatus(state=TaskState.COMPLETED)
        return task


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    skill = SkillWithParameters(
        id=skills.SKILL,
        name="TeamVacancyCheck",
        description="Checks for available spaces in Urmston Town junior teams based on age.",
        tags=["football", "juniors"],
    )
    card = AgentCard(
        name="Urmston Town Juniors Orchestrator Agent",
        description="A2A Agent for Urmston Town Juniors FC inquiries.",
        url=f"http://127.0.0.1:{args.port}",
        version="1.0.1",
        skills=[skill],
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder, "teams.sqlite"))
        skills.open_teams(database)
        run_server(Club(database, agent_card=card), host="127.0.0.1", port=args.port)


if __name__ == "__main__":
    main()
