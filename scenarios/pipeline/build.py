"""Writes code: the skills generate_code and write_docs, without a model.

    python scenarios/pipeline/build.py --port 8002
"""

from skills import command_line, serve, skill

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


def main():
    args = command_line(__doc__).parse_args()
    code = RECURSIVE if args.version.startswith("1.") else ITERATIVE

    @skill("Writes code that follows a plan", {"plan": "string"}, {"code": "string"})
    def generate_code(plan):
        if "recursion" not in plan:
            raise ValueError("the plan has no recursion")
        return {"code": code}

    @skill("Describes what a plan leads to", {"plan": "string"}, {"docs": "string"})
    def write_docs(plan):
        return {"docs": f"fibonacci(n) gives the nth Fibonacci number. How: {plan}."}

    serve("build-agent", [generate_code, write_docs], args)


if __name__ == "__main__":
    main()
