"""What clients that show answers to people or models have in common.

Some look for an answer in the status, some in artifacts, some in both or in the history too: whatever they show has to
hold each answer once.
"""

import checks

# What is said to `sample`, and the answer.
SAID = [("Hello", "You said: Hello"), ("again", "You said: again")]


def once(result, way, answer, shown):
    """One check: the answer stands in what is shown, and stands there once."""
    result.equal(f"{way}: {answer!r} stands once in {shown!r}", 1, shown.count(answer))


def card():
    """The address of the agent's card."""
    return f"{checks.agent('sample')}/.well-known/agent-card.json"
