"""Makes plans from specifications of any function: the skill create_plan, without a model.

specification.py says what it understands.

    python3 scenarios/pipeline/planner.py --port 8001
"""

from skills import command_line, serve, skill
from specification import read


@skill(
    "Makes a plan and test cases from the specification of a function",
    {"requirements": "string"},
    {"plan": "string", "steps": "array", "cases": "array"},
)
def create_plan(requirements):
    function = read(requirements)
    if not function.tests:
        raise ValueError(f"expected a test, such as Test {function.name}(..) = ..")
    steps = function.steps()
    return {"plan": "\n".join(steps), "steps": steps, "cases": function.tests}


if __name__ == "__main__":
    serve("plan-agent", [create_plan], command_line(__doc__).parse_args())
