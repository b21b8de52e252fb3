"""LangChain's remote agent: its messages are what a graph goes on with."""

from langchain_core.messages import HumanMessage
from langchain_remote_a2a_agent import RemoteAgent

from checks import run
from shown import card, each, once


async def talk(checks):
    async def to(name, said):
        remote = RemoteAgent(
            name="remote", description="answers", agent_card_url=card(name), timeout=120.0
        )
        thread = {"configurable": {"thread_id": name}}
        for text, answer in said:
            messages = {"messages": [HumanMessage(text)]}
            seen = await remote.ainvoke(messages, thread)
            once(checks, f"{name}, waiting", answer, seen["messages"][-1].content)
            pieces = ""
            async for state in remote.astream(messages, thread):
                pieces += "".join(one.content for one in state.get("messages", [])[-1:])
            once(checks, f"{name}, streaming", answer, pieces)

    await each(to)


run(talk)
