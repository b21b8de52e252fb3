"""What clients that show answers to people or models have in common.

Some look for an answer in the status, some in artifacts, some in both or in the history too: whatever they show has to
hold each answer once. They talk to every agent of `SHOWN`, a JSON object in the environment: by name, what the agent says
before it repeats what was said.
"""

import asyncio
import json
import os

import checks

# What is said to each agent.
SAID = ("Hello", "again")

# An agent whose task waits for its user after each answer, which is a question then. Some clients show no question, in
# whatever form; what others show of it has to hold it once.
ASKING = "echo"


def once(result, way, answer, shown):
    """One check: the answer stands in what is shown, and stands there once."""
    result.equal(f"{way}: {answer!r} stands once in {shown!r}", 1, shown.count(answer))


def agents_shown():
    """The names of all agents, each with what it says before it repeats what was said."""
    return json.loads(os.environ["SHOWN"])


async def each(talk, without=()):
    """Talks to all agents at once: `talk` gets an agent's name and what is said to it, each with the answer."""
    agents = [(name, before) for name, before in agents_shown().items() if name not in without]
    said = {name: [(said, before + said) for said in SAID] for name, before in agents}
    await asyncio.gather(*(talk(name, said[name]) for name in said))


def card(name):
    """The address of an agent's card."""
    return f"{checks.agent(name)}/.well-known/agent-card.json"
