"""Runs code with test cases: the skill review_code, without a model.

The code runs as a program of its own, for two seconds and in 256 MiB at most, and only if it is what builder.py
writes: functions of cases and values.

    python3 scenarios/pipeline/tester.py --port 8003
"""

import ast
import json
import resource
import subprocess
import sys

from skills import command_line, serve, skill
from specification import Function, expression

SECONDS = 2
BYTES = 256 << 20

RUN = """
import json, sys
code, name, cases = json.load(sys.stdin)
module = {}
exec(compile(code, name + ".py", "exec"), module)
def outcome(case):
    try:
        return json.dumps({"found": module[name](*case["arguments"])}, allow_nan=False)
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})
for case in cases:
    print(outcome(case), flush=True)
"""


def function_in(code):
    """The name of the one function of the code, if it has nothing in it but cases and values."""
    [definition] = ast.parse(code).body
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        raise ValueError("expected one function")
    function = Function(definition.name, [argument.arg for argument in definition.args.args])
    for statement in definition.body:
        returned = statement
        if isinstance(statement, ast.If):
            expression(function, ast.unparse(statement.test))
            [returned] = statement.body
        if not isinstance(returned, ast.Return):
            raise ValueError(f"expected cases and values, found {ast.unparse(statement)!r}")
        expression(function, ast.unparse(returned.value))
    return function.name


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def run(code, name, cases):
    """What each case gave; fewer than there are cases if the program did not get so far."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", RUN], input=json.dumps([code, name, cases]), capture_output=True, text=True,
            timeout=SECONDS * 2, preexec_fn=limit,
        )
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode()
    return [json.loads(line) for line in said.splitlines()]


def is_same(found, expected):
    """Whether they are one value: 2 and 2.0 are, and 1 and true are not."""
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_same, found, expected))
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected


@skill(
    "Runs code with test cases and scores it",
    {"code": "string", "cases": "array"},
    {"review": "string", "feedback": "string", "passed": "integer", "failed": "array"},
)
def review_code(code, cases):
    name = function_in(code)
    outcomes = run(code, name, cases)
    outcomes += [{"error": f"no answer within {SECONDS} s"}] * (len(cases) - len(outcomes))
    pairs = list(zip(cases, outcomes))
    failed = [case | outcome for case, outcome in pairs if not is_same(outcome.get("found", outcome), case["expected"])]
    passed = len(cases) - len(failed)
    score = round(10 * passed / max(1, len(cases)))
    return {
        "review": f"Code quality score: {score}/10",
        "feedback": f"{name} passes {passed} of {len(cases)} cases",
        "passed": passed,
        "failed": failed,
    }


if __name__ == "__main__":
    serve("test-agent", [review_code], command_line(__doc__).parse_args())
