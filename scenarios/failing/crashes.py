"""An agent, green or purple, that serves its card and dies of its first message, with exit code 7. A2A 0.3.

    python scenarios/failing/crashes.py --port 9019
"""

import os
import sys

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue

from common import Agent, serve


class Crashes(Agent):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        print("fatal: that message was too much", file=sys.stderr, flush=True)
        os._exit(7)


if __name__ == "__main__":
    serve(Crashes(), "Dies of its first message.", name="Crashing agent")
