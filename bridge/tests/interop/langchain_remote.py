"""LangChain's remote agent: its messages are what a graph goes on with."""

from langchain_core.messages import HumanMessage
from langchain_remote_a2a_agent import RemoteAgent

from checks import run
from shown import SAID, card, once


async def talk(checks):
    remote = RemoteAgent(
        name="remote", description="answers", agent_card_url=card(), timeout=30.0
    )
    thread = {"configurable": {"thread_id": "one"}}
    for said, answer in SAID:
        messages = {"messages": [HumanMessage(said)]}
        seen = await remote.ainvoke(messages, thread)
        once(checks, "waiting", answer, seen["messages"][-1].content)
        pieces = ""
        async for state in remote.astream(messages, thread):
            pieces += "".join(one.content for one in state.get("messages", [])[-1:])
        once(checks, "streaming", answer, pieces)


run(talk)
