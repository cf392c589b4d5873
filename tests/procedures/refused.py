"""What Quintet refuses when a procedure is made: by SQLSTATE, by name, and with the line.

Relies on: `refusals/NAME.sql`; what is refused is written there on the line that is refused:

    OPEN c; -- refused: 0A000 OPEN

Promises: the statement with such a line fails with that SQLSTATE, and a message with that text; if the
line is inside a body, the message, detail, hint or context has `line N`, counted from the body's beginning as
PostgreSQL counts, or the error's position is on that line.  Where several lines of one statement are marked, it
is one of them.  Statements without a mark succeed.
Against PostgreSQL: all of them succeed, which shows that they are refused for what they mean, not
for how they are written.
"""

import pathlib
import re

import psycopg
from harness import Options, test

from procedures.answers import judge, known_differences, names
from procedures.databases import databases
from procedures.script import steps

REFUSALS = pathlib.Path(__file__).resolve().parent / "refusals"

MARK = re.compile(r"-- refused: (\w{5}) (.+)$", re.MULTILINE)
BODY = re.compile(r"(\$\w*\$)(.*?)\1", re.DOTALL)


def expectations(text):
    """What the statement's marks say: SQLSTATE, words, line of the body or None, line of the statement."""
    found = []
    for mark in MARK.finditer(text):
        bodies = [body for body in BODY.finditer(text) if body.start() < mark.start() < body.end()]
        in_body = text.count("\n", bodies[0].start(2), mark.start()) + 1 if bodies else None
        found.append((mark[1], mark[2].strip(), in_body, text.count("\n", 0, mark.start()) + 1))
    return found


def complaint(text, expected, error):
    """What is wrong with the answer to a statement, or nothing."""
    if not expected:
        return f"refused: {error}" if error else None
    if error is None:
        return "accepted, but should be refused: " + " or ".join(f"{state} {words}" for state, words, _, _ in expected)
    complaints = [complaint_about(text, one, error.diag) for one in expected]
    return None if None in complaints else "; ".join(complaints)


def complaint_about(text, expected, diagnostic):
    state, words, body_line, statement_line = expected
    if diagnostic.sqlstate != state:
        return f"found {diagnostic.sqlstate} {diagnostic.message_primary}, expected {state}"
    if words.lower() not in diagnostic.message_primary.lower():
        return f"{words!r} is not in: {diagnostic.message_primary}"
    told = [diagnostic.message_primary, diagnostic.message_detail, diagnostic.message_hint, diagnostic.context]
    by_words = any(re.search(rf"\bline {body_line}\b", part) for part in told if part)
    position = int(diagnostic.statement_position or 0)
    by_position = position and text.count("\n", 0, position - 1) + 1 == statement_line
    if body_line is not None and not by_words and not by_position:
        return f"line {body_line} is not told: {[part for part in told if part]}, position {position}"
    return None


def complaints_about(connection, name):
    """What is wrong with the answers to one file."""
    found = []
    for step in steps((REFUSALS / f"{name}.sql").read_text()):
        error = None
        try:
            connection.execute(step.text)
        except psycopg.Error as raised:
            error = raised
        expected = [] if Options.reference else expectations(step.text)
        if said := complaint(step.text, expected, error):
            found.append(f"{step.text.splitlines()[0]}: {said}")
    return found


@test
def every_refusal_names_what_and_where():
    every, wrong = [f"refusals/{name}" for name in names(REFUSALS)], {}
    with databases() as open_database:
        for name in every:
            with open_database() as connection:
                if found := complaints_about(connection, name.removeprefix("refusals/")):
                    wrong[name] = found
    known = known_differences((REFUSALS.parent / "known_differences").read_text())
    for name, found in wrong.items():
        if Options.reference or Options.only or name not in known:
            print("\n".join([name, *found]))
    judge(wrong, every)
