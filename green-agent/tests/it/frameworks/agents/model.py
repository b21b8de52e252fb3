"""What stands in for a language model: it adds, and from some difficulty on is wrong by one.

The file `skill` in the working directory says up to which difficulty it is right. The difficulty is the first number of the
question; with SEEDED in the environment, the seed of the trial makes it greater.
"""

import argparse
import os
import re
from pathlib import Path


def answer(question: str) -> str:
    numbers = [int(number) for number in re.findall(r"\d+", question)]
    difficulty = numbers[0] + int(os.environ["HARNESS_SEED"] if "SEEDED" in os.environ else 0)
    is_right = difficulty <= int(Path("skill").read_text())
    return f"The sum is {sum(numbers) + (0 if is_right else 1)}."


def port() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args().port
