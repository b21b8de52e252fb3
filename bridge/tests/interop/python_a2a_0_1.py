"""A2A 0.1 as PyPI python-a2a 0.5.10 speaks it: its own forms of messages, at `{base}/tasks/METHOD`.

It has no method for streams that any other server knows, nor a list of tasks; see KNOWN.md. When it does
not understand an answer it makes up a task, so what is checked is what only the bridge can have said.
"""

import uuid

from checks import agent, run
from python_a2a import A2AClient, Message, MessageRole, Task, TextContent


def say(client, text, task=None):
    """The task as the client reads it from the answer."""
    message = Message(content=TextContent(text=text), role=MessageRole.USER)
    own = task or Task(id=str(uuid.uuid4()))
    return client._send_task(Task(id=own.id, session_id=own.session_id, message=message.to_dict()))


def answer(task):
    """The state, and the text that the client looks for among the artifacts."""
    parts = [part for artifact in task.artifacts for part in artifact["parts"]]
    return task.status.state.value, "".join(part.get("text", "") for part in parts)


def echo(checks, client):
    checks.equal("the card is found", "sample", client.get_agent_card().name)
    checks.equal("what is asked is answered", "You said: hi", client.ask("hi"))
    checks.equal("at the first address that it tries", agent("sample"), client.endpoint_url)
    own = Task(id="mine-" + str(uuid.uuid4()))
    task = say(client, "hi", own)
    checks.equal("a task has the id that its client chose", own.id, task.id)
    checks.equal("an echo ends its task", ("completed", "You said: hi"), answer(task))
    got = client.get_task(task.id)
    checks.equal("a task is got as it was answered", answer(task), answer(got))
    return task


def turns(checks, client):
    task = say(client, "-multi")
    checks.equal("-multi asks for input", "input-required", task.status.state.value)
    again = say(client, "one", task)
    checks.equal("the conversation goes on in its task", task.id, again.id)
    checks.equal("each turn answers", ("input-required", "You said: one"), answer(again))
    say(client, "two", task)
    ended = say(client, "end", task)
    checks.equal("end completes the task", "completed", ended.status.state.value)
    # The client keeps of an artifact nothing but its parts.
    history = ended.artifacts[0]["parts"][0]["data"]["history"]
    told = [message["text"] for message in history if message["from"]["role"] == "user"]
    checks.equal("its result is an artifact", ["-multi", "one", "two", "end"], told)
    users = [said["parts"][0]["text"] for said in ended.history if said["role"] == "user"]
    checks.equal("its history has what was said", ["-multi", "one", "two", "end"], users)


def cancel(checks, client):
    task = say(client, "-multi")
    canceled = client.cancel_task(task.id)
    checks.equal("a waiting task is canceled", "canceled", canceled.status.state.value)
    got = client.get_task(task.id)
    checks.equal("and stays so", "canceled", got.status.state.value)


def errors(checks, client, ended):
    # The client reads errors as tasks without a state.
    unknown = client.get_task("unknown-" + str(uuid.uuid4()))
    checks.equal("an unknown task has no answer", "", answer(unknown)[1])
    say(client, "more", ended)
    got = client.get_task(ended.id)
    checks.equal("an ended task takes no message", answer(ended), answer(got))


async def main(checks):
    client = A2AClient(agent("sample"))
    ended = echo(checks, client)
    turns(checks, A2AClient(agent("sample")))
    cancel(checks, A2AClient(agent("sample")))
    errors(checks, A2AClient(agent("sample")), ended)
    endless = say(A2AClient(agent("echo")), "hi")
    checks.equal("a bot without end waits", ("input-required", "Echo: hi"), answer(endless))


run(main)
