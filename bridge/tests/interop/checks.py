"""What the clients have in common: they print one line per check and end with 1 if one failed.

Each client is started with the bridge's address as its only argument. The agents `sample`, `echo` and
`hanging` are at `/a2a/NAME` below it.
"""

import asyncio
import sys

# Longer than any conversation here takes; a client that waits for ever would hide what it waits for.
LIMIT_SECONDS = 600

STREAMED = (
    "A task is a log of what was said and done. "
    "Everyone who follows it sees the same events in the same order [1].\n"
    "[1] Agent2Agent (A2A) Protocol Specification (https://a2a-protocol.org/latest/specification/)"
)


class Checks:
    """Counts what was not as expected."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def equal(self, what, expected, seen):
        """One check: what was seen has to be what was expected."""
        if expected == seen:
            self.passed += 1
            print(f"ok    {what}")
        else:
            self.failed += 1
            print(f"WRONG {what}\n      expected {expected!r}\n      seen     {seen!r}")

    async def refused(self, what, error, awaitable):
        """One check: the call has to fail with this class of error, JSON-RPC code, HTTP status or code of gRPC."""
        try:
            seen = await awaitable
        except Exception as raised:  # Whatever it is, it is what was seen.
            status = getattr(raised, "status_code", type(raised))
            seen = getattr(getattr(raised, "error", None), "code", status)
            if callable(getattr(raised, "code", None)):
                seen = raised.code().name
        self.equal(what, error, seen)


def agent(name):
    """The address of one of the bridge's agents."""
    return f"{sys.argv[1]}/a2a/{name}"


def run(client):
    """Runs the client's conversations, and ends the program with their verdict."""
    checks = Checks()
    asyncio.run(asyncio.wait_for(client(checks), LIMIT_SECONDS))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)
