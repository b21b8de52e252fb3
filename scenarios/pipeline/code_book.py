"""The code that the build agents write, instead of a model."""

RECURSIVE = """\
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)
"""

ITERATIVE = """\
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
"""


def code_for(plan, version="1.0.0"):
    """Code that follows the plan; since version 2 faster code."""
    if "recursion" not in plan:
        raise ValueError("the plan has no recursion")
    return RECURSIVE if version.startswith("1.") else ITERATIVE
