"""The club's agent on PyPI's a2a-sdk, A2A 1.0, without a bridge.

Cards of the SDK have no place for a skill's parameters, so it is called by whoever knows them, or in words.

    python scenarios/club/sdk_club.py --port 9020
"""

import argparse
import tempfile
from pathlib import Path

from a2a.helpers import get_data_parts, new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import AgentSkill
from a2a.utils.errors import TaskNotCancelableError

import skills
from common import open_task, serve


class Club(AgentExecutor):
    """Says whether a team has a place."""

    def __init__(self, database: str) -> None:
        self.database = database

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = await open_task(context, event_queue)
        calls = [data for data in get_data_parts(context.message.parts) if "skill_id" in data]
        # The SDK makes floats of whole numbers.
        age = int(calls[0]["parameters"]["age"]) if calls else skills.age_told(context.get_user_input())
        if age is None:
            return await task.requires_input(task.new_agent_message([new_text_part("How old is the child?")]))
        result, text = skills.check_team_availability(self.database, age)
        await task.add_artifact([new_data_part(result)], name="Result")
        await task.complete(task.new_agent_message([new_text_part(text)]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    skill = AgentSkill(
        id=skills.SKILL,
        name="TeamVacancyCheck",
        description="Checks for available spaces in Urmston Town junior teams based on age.",
        tags=["football", "juniors"],
    )
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder, "teams.sqlite"))
        skills.open_teams(database)
        serve(Club(database), args, name="Urmston Town Juniors Orchestrator Agent", skill=skill)
