"""Reviews code by running it: the skill review_code, without a model.

    python scenarios/pipeline/test.py --port 8003
"""

from skills import command_line, serve, skill

EXPECTED = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@skill("Reviews code and scores its quality", {"code": "string"}, {"review": "string", "feedback": "string"})
def review_code(code):
    names = {}
    exec(compile(code, "code", "exec"), names)
    right = [names["fibonacci"](n) for n in range(len(EXPECTED))] == EXPECTED
    score = 8 if right else 2
    feedback = "The first ten numbers are right" if right else "The first ten numbers are wrong"
    return {"review": f"Code quality score: {score}/10", "feedback": feedback}


if __name__ == "__main__":
    serve("test-agent", [review_code], command_line(__doc__).parse_args())
