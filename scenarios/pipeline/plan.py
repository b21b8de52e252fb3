"""Makes plans: the skill create_plan, without a model.

    python scenarios/pipeline/plan.py --port 8001
"""

from skills import command_line, serve, skill

STEPS = {"fibonacci": ["Define function", "handle base cases", "implement recursion"]}


@skill(
    "Creates structured implementation plans from requirements",
    {"requirements": "string"},
    {"plan": "string", "steps": "array"},
)
def create_plan(requirements):
    known = [steps for word, steps in STEPS.items() if word in requirements.lower()]
    if not known:
        raise ValueError(f"nobody knows how to plan {requirements!r}")
    return {"plan": ", ".join(known[0]), "steps": known[0]}


if __name__ == "__main__":
    serve("plan-agent", [create_plan], command_line(__doc__).parse_args())
