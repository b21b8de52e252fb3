"""Reviews code by reading it: the skill review_code, without a model.

    python3 scenarios/pipeline/test.py --port 8003
"""

import ast

from skills import command_line, serve, skill


def remarks(tree):
    """What is to be said about each function, with the points that it costs."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        inside = list(ast.walk(function))
        if not any(isinstance(node, ast.Return) for node in inside):
            yield 6, f"{function.name} returns nothing"
        if not any(isinstance(node, (ast.If, ast.For, ast.While)) for node in inside):
            yield 4, f"{function.name} has no base case"
        if not ast.get_docstring(function):
            yield 2, f"{function.name} says nothing of what it does"


@skill("Reviews code and scores its quality", {"code": "string"}, {"review": "string", "feedback": "string"})
def review_code(code):
    found = list(remarks(ast.parse(code)))
    score = max(0, 10 - sum(points for points, _ in found))
    feedback = "; ".join(remark for _, remark in found) or "nothing to remark"
    return {"review": f"Code quality score: {score}/10", "feedback": feedback}


if __name__ == "__main__":
    serve("test-agent", [review_code], command_line(__doc__).parse_args())
