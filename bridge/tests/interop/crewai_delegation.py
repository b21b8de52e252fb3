"""CrewAI's delegation to a remote agent, which speaks 0.3: its result is made of artifacts, the status and the history."""

import os

# It would tell its makers of each run.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_DISABLE_TRACKING="true", OTEL_SDK_DISABLED="true")

from crewai.a2a.updates import PollingConfig, StreamingConfig
from crewai.a2a.utils.delegation import aexecute_a2a_delegation

from checks import run
from shown import card, each, once


async def talk(checks):
    async def to(name, said):
        # Without updates the agent is waited for.
        for way, updates in (("polling", PollingConfig()), ("streaming", StreamingConfig())):
            for text, answer in said:
                seen = await aexecute_a2a_delegation(
                    endpoint=card(name), auth=None, timeout=60, task_description=text, updates=updates
                )
                # What it calls an error is the question of a task that waits.
                shown = str(seen.get("result") or seen.get("error"))
                once(checks, f"{name}, {way}", answer, shown)

    await each(to)


run(talk)
