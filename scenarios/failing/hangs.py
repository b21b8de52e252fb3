"""An agent, green or purple, that says it is working and then nothing, for ever. A2A 0.3.

It shows what a runner must be able to end: `--ignore-sigterm` leaves it deaf to SIGTERM, and
`--fork` starts a child in a session of its own, which no signal to the agent's process group
reaches and which the agent does not stop.

    python scenarios/failing/hangs.py --port 9019 --ignore-sigterm --fork
"""

import asyncio
import signal
import subprocess

import uvicorn
from a2a.server.tasks import TaskUpdater

from common import Agent, command_line, configure, text


class Hangs(Agent):
    async def work(self, task: TaskUpdater) -> None:
        await task.start_work(text(task, "Let me think."))
        await asyncio.Event().wait()


class Deaf(uvicorn.Server):
    """A server that SIGTERM does not stop."""

    def handle_exit(self, sig: int, frame) -> None:
        if sig != signal.SIGTERM:
            super().handle_exit(sig, frame)


if __name__ == "__main__":
    parser = command_line("An agent that never answers.")
    parser.add_argument("--ignore-sigterm", action="store_true")
    parser.add_argument("--fork", action="store_true")
    args = parser.parse_args()
    if args.fork:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        print(f"child {child.pid}", flush=True)
    server = Deaf if args.ignore_sigterm else uvicorn.Server
    server(configure(Hangs(), args, name="Hanging agent", description="Never answers.")).run()
