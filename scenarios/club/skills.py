"""What the club can tell: its one skill, on the SQLite file of its teams.

The file is made from teams.sql where it is not there yet.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

SKILL = "check_team_availability_v1"
TEAMS = Path(__file__).with_name("teams.sql")


class InvalidParameters(ValueError):
    """What was asked cannot be answered; the words say which parameter is wrong."""


def open_teams(path):
    """Makes the file of the teams if there is none."""
    if not Path(path).exists():
        with closing(sqlite3.connect(path)) as teams:
            teams.executescript(TEAMS.read_text(encoding="utf-8"))
            teams.commit()


def age_in(parameters):
    """The age that the parameters tell."""
    age = parameters.get("age") if isinstance(parameters, dict) else None
    if isinstance(age, bool) or not isinstance(age, int):
        raise InvalidParameters(f"age: expected the child's age in whole years, found {age!r}")
    if not 0 < age < 100:
        raise InvalidParameters(f"age: expected an age from 1 to 99, found {age}")
    return age


def age_told(text):
    """The age that a text tells, such as "my 10-year-old son", or none."""
    found = re.search(r"\b(\d{1,2})[\s-]*years?[\s-]*old|\b(?:age|aged|is|under|u)\s*(\d{1,2})\b|\b(\d{1,2})\b", text, re.I)
    return int(next(filter(None, found.groups()))) if found else None


def check_team_availability(path, age):
    """The team of an age: whether it has a place, its name, whom to ask; and the same in words."""
    with closing(sqlite3.connect(path)) as teams:
        row = teams.execute("SELECT name, players, places, contact FROM teams WHERE age = ?", (age,)).fetchone()
    if row is None:
        result = {"has_vacancy": False, "team_name": None, "contact": None}
        return result, f"Sorry, the club has no team for a {age}-year-old."
    name, players, places, contact = row
    result = {"has_vacancy": players < places, "team_name": name, "contact": contact}
    if players < places:
        return result, f"Yes, there are spaces for a {age}-year-old in the {name} team. Contact {contact} for more details."
    return result, f"Sorry, the {name} team has no space for a {age}-year-old at the moment. Contact {contact} for the waiting list."
