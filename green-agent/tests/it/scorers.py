"""Checks the functions in Python that the documentation shows: scorers.py scorer.py existing-evaluations.md"""

import csv
import json
import math
import re
import sys

scorer, page = (open(path, encoding="utf-8").read() for path in sys.argv[1:])

# Only the function and its expression, because the rest of the file needs packages.
numbers = {"math": math, "re": re}
for part in scorer.split("\n\n\n"):
    if part.startswith("def score"):
        exec(re.search(r"^NUMBER = .*$", scorer, re.MULTILINE)[0] + "\n" + part, numbers)

for answer, target, score in [
    ("So it is 42.", 42, 1),
    ("$70,000.00", 70000, 1),
    ("She owes him: -$5.", -5, 1),
    ("It loses $-1,000 a day", -1000, 1),
    ("1,234,568 people", 1234567, 0),
    ("about 0.3333", 1 / 3, 0),
    ("nothing", 0, 0),
]:
    assert numbers["score"](answer, {"target": target}) == {"score": score}, (answer, target)

[code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "CHECKS = {" in block]
assertions = {"csv": csv, "json": json, "re": re}
exec(code, assertions)

for kind, value, answer, holds in [
    ("equals", 42, "42", True),
    ("equals", True, "true", True),
    ("equals", {"a": 1}, '{"a":1.0}', True),
    ("equals", {"a": 1}, "a", False),
    ("not-equals", [1], "[2]", True),
    ("contains", 4.0, "It is 4", True),
    ("icontains", "PARIS", "paris", True),
    ("contains-any", ["x", 7], "7", True),
    ("contains-any", "apple, banana", "a pear", False),
    ("contains-any", "apple, banana", "a banana", True),
    ("contains-any", '"a, b",c', "b", False),
    ("contains-all", "apple, banana", "banana, apple", True),
    ("not-contains-all", ["apple", "pear"], "apple", True),
    ("starts-with", "It", "It is", True),
    ("regex", r"^\d+$", "12", True),
]:
    check = {"type": kind, "value": value}
    assert assertions["holds"](answer, check) is holds, (check, answer)
checks = [{"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}]
assert assertions["score"]("a", {"checks": checks}) == {"score": 0.5}
