"""Writes a Python module that follows a plan, and compiles it: the skill generate_code, without a model.

    python3 scenarios/pipeline/builder.py --port 8002
"""

from skills import command_line, serve, skill
from specification import read


@skill("Writes and compiles a Python module that follows a plan", {"plan": "string"}, {"code": "string"})
def generate_code(plan):
    function = read(plan)
    lines = [f"def {function.name}({', '.join(function.parameters)}):"]
    for condition, value in function.cases:
        lines += [f"    if {condition}:", f"        return {value}"]
    lines.append(f"    return {function.otherwise}")
    code = "\n".join(lines) + "\n"
    compile(code, f"{function.name}.py", "exec")
    return {"code": code}


if __name__ == "__main__":
    serve("build-agent", [generate_code], command_line(__doc__).parse_args())
