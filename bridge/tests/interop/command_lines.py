"""Clients that are programs, conductor's `a2a` and `handler`, by what they print."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from checks import agent, run
from shown import ASKING, each, once

# What the sample streams in six pieces, without its citation.
STREAMED = "A task is a log of what was said and done. Everyone who follows it sees the same events in the same order"

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
    async def to(name, said):
        url = agent(name)
        text, answer = said[0]
        for way, command in (("waiting", ("send", "-q")), ("streaming", ("stream",))):
            if name == ASKING:
                continue  # It shows no question.
            shown = await printed("a2a", *command, "-a", url, text)
            once(checks, f"{name}, conductor, {way}", answer, shown)
        for way, command in (("waiting", "send"), ("streaming", "stream")):
            if (name, way) == (ASKING, "waiting"):
                continue  # It shows no question that it has waited for.
            shown = await printed("handler", "message", command, "--url", url, "--text", text)
            once(checks, f"{name}, handler, {way}", answer, shown)

    await each(to)
    # A text that was streamed is one text to those who did not follow it.
    for way, command in (
        ("conductor", ("a2a", "send", "-q", "-a", agent("sample"), "--", "-stream")),
        ("handler", ("handler", "message", "send", "--url", agent("sample"), "--text=-stream")),
    ):
        once(checks, f"sample, {way}, a streamed answer", STREAMED, await printed(*command))


run(talk)
