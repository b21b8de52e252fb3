"""Writes code: the skill generate_code, without a model. From --version 2.0.0 on the code is faster.

    python3 scenarios/pipeline/build.py --port 8002
"""

from code_book import code_for
from skills import command_line, serve, skill


def main():
    args = command_line(__doc__).parse_args()

    @skill("Writes code that follows a plan", {"plan": "string"}, {"code": "string"})
    def generate_code(plan):
        return {"code": code_for(plan, args.version)}

    serve("build-agent", [generate_code], args)


if __name__ == "__main__":
    main()
