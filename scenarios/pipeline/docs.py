"""Describes what is built: the skill write_docs, without a model.

    python3 scenarios/pipeline/docs.py --port 8004
"""

from skills import command_line, serve, skill


@skill("Describes what a plan leads to", {"steps": "array", "style": "string"}, {"docs": "string"})
def write_docs(steps, style):
    how = "; ".join(steps) if style == "short" else "\n".join(f"- {step}" for step in steps)
    return {"docs": f"fibonacci(n) gives the nth Fibonacci number: {how}."}


if __name__ == "__main__":
    serve("docs-agent", [write_docs], command_line(__doc__).parse_args())
