"""A green agent that takes no assessment: states submitted, rejected. A2A 0.3.

    python scenarios/failing/green_rejects.py --port 9009
"""

from a2a.server.tasks import TaskUpdater

from common import Agent, serve, text


class Rejects(Agent):
    async def work(self, task: TaskUpdater) -> None:
        await task.reject(text(task, "This evaluator is closed for the season."))


if __name__ == "__main__":
    serve(Rejects(), "Rejects every assessment.", name="Rejecting evaluator")
