"""A green agent that starts to work and then fails: states submitted, working, failed. A2A 0.3.

    python scenarios/failing/green_fails.py --port 9009
"""

from a2a.server.tasks import TaskUpdater

from common import Agent, serve, text


class Fails(Agent):
    async def work(self, task: TaskUpdater) -> None:
        await task.start_work(text(task, "Starting assessment."))
        await task.failed(text(task, "The evaluator lost its answer sheet."))


if __name__ == "__main__":
    serve(Fails(), "Fails at every assessment.", name="Failing evaluator")
