"""A graph of one function on PyPI langgraph-api 0.16.7, served as `langgraph dev` does, with its A2A endpoint."""

import json
import os
import sys
import threading
import time
import urllib.request

# It would tell its makers of each run.
os.environ.update(LANGGRAPH_CLI_NO_ANALYTICS="1", LANGSMITH_TRACING="false", LANGSMITH_LANGGRAPH_API_VARIANT="local_dev")

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

# How long the server may take to start.
START_SECONDS = 60


def echo(state):
    said = state["messages"][-1].content
    text = said if isinstance(said, str) else "".join(part["text"] for part in said)
    return {"messages": [AIMessage(f"You said: {text}")]}


steps = StateGraph(MessagesState)
steps.add_node("echo", echo)
steps.add_edge(START, "echo")
steps.add_edge("echo", END)
# The server imports this file again, to have it.
graph = steps.compile()


def tell(address):
    """Says where the graph's card is, once the server knows what it calls the graph."""
    search = urllib.request.Request(
        f"{address}/assistants/search", data=b"{}", headers={"Content-Type": "application/json"}
    )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(search, timeout=5) as answer:
                assistant = json.load(answer)[0]["assistant_id"]
        except (OSError, LookupError):
            time.sleep(0.1)
            continue
        card = f"{address}/.well-known/agent-card.json?assistant_id={assistant}"
        print(f"\nlistening on {card}", file=sys.stderr, flush=True)
        return


if __name__ == "__main__":
    import socket
    import tempfile

    from langgraph_api.cli import run_server

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
    threading.Thread(target=tell, args=[f"http://127.0.0.1:{chosen}"], daemon=True).start()
    place = f"{os.path.abspath(__file__)}:graph"
    # It keeps what it knows in the folder it is started in.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_server(port=chosen, graphs={"echo": place}, env={}, server_level="CRITICAL")
