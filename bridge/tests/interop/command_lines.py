"""Clients that are programs, conductor's `a2a` and `handler`, by what they print."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from checks import agent, run
from shown import SAID, once

PROGRAMS = Path(sys.executable).parent


async def printed(program, *arguments):
    # They keep sessions at home, and colour what they print.
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            PROGRAMS / program,
            *arguments,
            env=dict(os.environ, HOME=home, NO_COLOR="1", TERM="dumb", COLUMNS="200"),
            stdout=asyncio.subprocess.PIPE,
        )
        return (await process.communicate())[0].decode()


async def talk(checks):
    url = agent("sample")
    said, answer = SAID[0]
    for way, command in (("waiting", ("send", "-q")), ("streaming", ("stream",))):
        shown = await printed("a2a", *command, "-a", url, said)
        once(checks, f"conductor, {way}", answer, shown)
    for way, command in (("waiting", "send"), ("streaming", "stream")):
        shown = await printed("handler", "message", command, "--url", url, "--text", said)
        once(checks, f"handler, {way}", answer, shown)


run(talk)
