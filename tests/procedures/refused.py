"""What Quintet refuses when a procedure is made: by SQLSTATE, by name, and with the line.

Relies on: `refusals/NAME.sql`; what is refused is written there on the line that is refused:

    OPEN c; -- refused: 0A000 OPEN

Promises: the statement with such a line fails with that SQLSTATE, and a message with that text; if the
line is inside a body, the message, detail, hint or context has `line N`, counted from the body's beginning as
PostgreSQL counts, or the error's position is on that line.  Statements without one succeed.
Against PostgreSQL: all of them succeed, which shows that they are refused for what they mean, not
for how they are written.
"""

import pathlib
import re

import psycopg
from harness import Options, check, test

from procedures.answers import judge, known_differences, names
from procedures.databases import databases
from procedures.script import steps

REFUSALS = pathlib.Path(__file__).resolve().parent / "refusals"

MARK = re.compile(r"-- refused: (\w{5}) (.+)$", re.MULTILINE)


def expectation(text):
    """What the statement's mark says: SQLSTATE, words, line of the body or None, line of the statement."""
    marks = list(MARK.finditer(text))
    if not marks:
        return None
    check(len(marks) == 1, "one refusal for each statement:", text)
    (mark,) = marks
    bodies = [body for body in re.finditer(r"\$\w*\$(.*?)\$\w*\$", text, re.DOTALL) if body.start() < mark.start() < body.end()]
    line_of = lambda begin: text.count("\n", begin, mark.start()) + 1  # noqa: E731
    return mark[1], mark[2].strip(), line_of(bodies[0].start(1)) if bodies else None, line_of(0)


def complaint(text, expected, error):
    """What is wrong with the answer to a statement, or nothing."""
    if expected is None:
        return f"refused: {error}" if error else None
    state, words, body_line, statement_line = expected
    if error is None:
        return f"accepted, but should be refused: {state} {words}"
    diagnostic = error.diag
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
        expected = None if Options.reference else expectation(step.text)
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
