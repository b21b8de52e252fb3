"""A dialog of three turns with a bot, by clients that send different ids again after a question: LangChain's remote agent
the context's alone, Microsoft's Agent Framework the task's too."""

from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver
from agent_framework_a2a import A2AAgent
from langchain_core.messages import HumanMessage
from langchain_remote_a2a_agent import RemoteAgent

from checks import agent, run
from shown import once

NAME = "bot"
DIALOG = [("dialog", "What shall it be?"), ("tea", "How many?"), ("7", "7 of tea")]


async def langchain():
    card = f"{agent(NAME)}/.well-known/agent-card.json"
    remote = RemoteAgent(name="remote", description="answers", agent_card_url=card, timeout=120.0)
    thread = {"configurable": {"thread_id": str(uuid4())}}
    messages = []

    async def say(text):
        seen = await remote.ainvoke({"messages": [*messages, HumanMessage(text)]}, thread)
        messages[:] = seen["messages"]
        return messages[-1].content

    return say


async def agent_framework():
    url = agent(NAME)
    http = httpx.AsyncClient(timeout=120.0)
    card = await A2ACardResolver(httpx_client=http, base_url=url).get_agent_card()
    remote = A2AAgent(name="remote", agent_card=card, url=url)
    session = remote.create_session()

    async def say(text):
        return (await remote.run(text, session=session)).text

    return say


async def talk(checks):
    for client in (langchain, agent_framework):
        say = await client()
        for said, answer in DIALOG:
            once(checks, client.__name__, answer, await say(said))


run(talk)
