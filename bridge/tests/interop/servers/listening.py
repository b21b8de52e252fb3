"""How the servers in Python are started: on a port of their own, which they say as our programs do."""

import asyncio
import socket
import sys


def port():
    """A socket that listens already, and the address that leads to it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def serve(app, listener, address):
    """Serves until the process is ended."""
    asyncio.run(serving(app, listener, address))


async def serving(app, listener, address):
    """Serves until the process is ended, beside what else the program does."""
    import uvicorn  # Not every agent needs it.

    print(f"listening on {address}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="critical", access_log=False)
    await uvicorn.Server(config).serve(sockets=[listener])
