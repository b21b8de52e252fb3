"""A green agent that asks its participant a question and scores the answer by a function.

The scenario's `[config]` has a row of a dataset as `task`, with `input` and whatever the function needs. Copy this file and
`evaluator.py`, and replace `score` by your own, which may call any package.

    python scenarios/debate/scorer.py --port 9009
"""

import math
import re

from a2a.types import AgentSkill
from pydantic import BaseModel, Field, HttpUrl

from evaluator import Evaluator, ask, command_line, serve

NUMBER = re.compile(r"-?\$?(?:\d[\d,]*)?\.?\d+")


def score(answer: str, task: dict) -> dict[str, float]:
    """The metrics of an answer: whether its last number is the target, however it is written."""
    numbers = [float(re.sub("[$,]", "", number)) for number in NUMBER.findall(answer)]
    return {"score": float(bool(numbers) and math.isclose(numbers[-1], task["target"], rel_tol=1e-9))}


class Config(BaseModel):
    task: dict


class Request(BaseModel):
    participants: dict[str, HttpUrl] = Field(min_length=1, max_length=1)
    config: Config


class Scorer(Evaluator):
    request = Request

    async def evaluate(self, request: Request) -> dict:
        [url] = request.participants.values()
        answer = await ask(str(url), request.config.task["input"])
        return {"metrics": score(answer, request.config.task), "answer": answer}


if __name__ == "__main__":
    arguments = command_line("Scores answers by a function.").parse_args()
    skill = AgentSkill(id="score", name="Scorer", description="Scores the answer of an agent.", tags=["evaluation"])
    serve(Scorer(), arguments, skill=skill)
