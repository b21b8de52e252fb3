"""An agent on PyPI python-a2a 0.5.10: A2A 0.1, each method at a path of its own."""

import logging
import sys

from flask import Flask
from listening import port
from python_a2a import A2AServer, AgentCard, TaskState, TaskStatus
from werkzeug.serving import make_server


class Agent(A2AServer):
    def handle_task(self, task):
        # A message in the form of 0.1 reaches the agent in the SDK's own form.
        text = task.message["content"]["text"]
        if text == "ask":
            asked = {"role": "agent", "parts": [{"type": "text", "text": "what?"}]}
            task.status = TaskStatus(state=TaskState.INPUT_REQUIRED, message=asked)
            return task
        task.artifacts = [{"parts": [{"type": "text", "text": f"You said: {text}"}]}]
        task.status = TaskStatus(state=TaskState.COMPLETED)
        return task


listener, address = port()
logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
card = AgentCard(name="python-a2a 0.5.10", description="answers", url=address, version="1")
app = Flask("agent")
Agent(agent_card=card).setup_routes(app)
print(f"listening on {address}", file=sys.stderr, flush=True)
make_server("127.0.0.1", 0, app, threaded=True, fd=listener.fileno()).serve_forever()
