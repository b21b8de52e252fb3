"""Makes plans: the skill create_plan, without a model. It can be told to be in trouble.

    python3 scenarios/pipeline/plan.py --port 8001 --fail 2
"""

import time

from skills import InvalidParameters, command_line, serve, skill

STEPS = {"fibonacci": ["Define function", "handle base cases", "implement recursion"]}


def main():
    parser = command_line(__doc__)
    parser.add_argument("--fail", type=int, default=0, help="how often it fails before it succeeds")
    parser.add_argument("--slow", type=float, default=0, help="how many seconds it takes")
    parser.add_argument("--forget", action="store_true", help="have the skill on the card only")
    parser.add_argument("--lax", action="store_true", help="have a card that asks for less than the skill needs")
    parser.add_argument("--lie", action="store_true", help="give something else than the card says")
    args = parser.parse_args()

    @skill(
        "Creates structured implementation plans from requirements",
        {"requirements": "string"},
        {"plan": "string", "steps": "array"},
    )
    def create_plan(requirements=None):
        if requirements is None:
            raise InvalidParameters("missing required field 'requirements'")
        time.sleep(args.slow)
        if args.fail > 0:
            args.fail -= 1
            raise RuntimeError("the planner is busy")
        known = [steps for word, steps in STEPS.items() if word in requirements.lower()]
        if not known:
            raise ValueError(f"nobody knows how to plan {requirements!r}")
        return {"plan": 7 if args.lie else ", ".join(known[0]), "steps": known[0]}

    if args.lax:
        create_plan.card["input_schema"]["required"] = []
    serve("plan-agent", [create_plan], args, forgotten=[create_plan] if args.forget else [])


if __name__ == "__main__":
    main()
