"""PyPI a2a-bridge, which shows A2A agents to chat clients as models."""

import asyncio
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import httpx

from checks import run
from shown import ASKING, agents_shown, card, each, once


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


async def ask(http, agent, said, stream):
    body = {"model": agent, "stream": stream, "messages": [{"role": "user", "content": said}]}
    reply = await http.post("/v1/chat/completions", json=body)
    if not stream:
        return reply.json()["choices"][0]["message"]["content"]
    lines = [line[6:] for line in reply.text.splitlines() if line.startswith("data: {")]
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def listening(http):
    """Waits until it answers; the program's limit ends the waiting."""
    while True:
        try:
            return await http.get("/healthz")
        except httpx.ConnectError:
            await asyncio.sleep(0.05)


async def talk(checks):
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agents.yml"
        agents = "".join(f"  - id: {name}\n    card_url: {card(name)}\n" for name in agents_shown())
        file.write_text(f'agents:\n{agents}store: "memory://"\n')
        settings = {"CONFIG": str(file), "HOST": "127.0.0.1", "PORT": str(port)}
        settings = {f"A2A_BRIDGE_{key}": value for key, value in settings.items()}
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "a2a_bridge.server", cwd=folder, env=dict(os.environ, **settings)
        )
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
                await listening(http)

                async def to(name, said):
                    for text, answer in said:
                        for way, stream in (("waiting", False), ("streaming", True)):
                            shown = await ask(http, name, text, stream)
                            once(checks, f"{name}, {way}", answer, shown)

                # It shows no question.
                await each(to, without=[ASKING])
        finally:
            server.kill()
            await server.wait()


run(talk)
