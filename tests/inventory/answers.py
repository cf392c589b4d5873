"""What common clients and benchmarks send is answered as PostgreSQL 15 answers it.

Relies on: `cases/NAME.case`, what a client sends (script.py says how), and PostgreSQL's answer beside it, `NAME.out`. Promises: every
statement is answered alike, to the types, formats, tags and SQLSTATEs; one that is not says so in the script, with words that
docs/compatibility.md has, and is really answered otherwise. Does not: compare messages of errors (procedures and slt do).

    tests/run.py --reference inventory             PostgreSQL still answers so
    tests/run.py --reference --record inventory    write its answers down; read the diff
    tests/run.py --only jdbc inventory             one client, with every difference
"""

import difflib
import pathlib

from harness import ROOT, Options, check, server, test

from inventory import script
from inventory.wire import Wire

CASES = pathlib.Path(__file__).resolve().parent / "cases"
SETTINGS = {"user": "quintet", "TimeZone": "UTC", "DateStyle": "ISO, MDY"}
# What an answer ends with, between the statements of a file.
END = "----"


def ask(running, case, database):
    """The answers to a script's statements, on one connection."""
    wire = Wire("127.0.0.1", running.port, **{**SETTINGS, "database": database, **case.startup})
    answers = []
    for one in case.statements:
        try:
            answers.append([named(line, running) for line in script.run(wire, one)])
        except (ConnectionError, TimeoutError) as error:
            # The rest is asked anew: one end of a connection must not hide what comes later.
            answers.append([f"no answer: {error}"])
            wire = Wire("127.0.0.1", running.port, **{**SETTINGS, "database": database, **case.startup})
    wire.close()
    return answers


def named(line, running):
    """A line without what is another's in the next run: where the server's files are, and its port."""
    line = line.replace(str(running.data), "DATA")
    return "  port | PORT" + line.removeprefix(f"  port | {running.port}") if line.startswith(f"  port | {running.port} ") else line


def written(case, answers):
    return "".join("\n".join([f"> {one.title()}", *lines, END, ""]) for one, lines in zip(case.statements, answers))


def recorded(text):
    """The answers in a file, without their titles."""
    return [block.split("\n")[1:] for block in text.removesuffix(f"\n{END}\n").split(f"\n{END}\n")]


def verdict(one, expected, found):
    """What is wrong with an answer; None if nothing is."""
    if one.refused:
        state = one.refused.split()[0]
        if expected == found:
            return "is answered as PostgreSQL does: take `refused` away"
        return None if any(line.endswith(f" {state}") for line in found) else f"is not refused with {state}"
    if one.differs:
        return "is answered as PostgreSQL does: take `differs` away" if expected == found else None
    return None if expected == found else "is answered otherwise"


@test
def every_statement_of_common_clients_is_answered_as_by_postgresql():
    counts, wrong = {"all": 0, "refused": 0, "differs": 0}, []
    cases = [file for file in sorted(CASES.glob("*.case")) if not Options.only or Options.only in file.name]
    check(cases, "no cases")
    for file in cases:
        case, answer = script.read(file.read_text()), file.with_suffix(".out")
        with database() as (running, name):
            answers = ask(running, case, name)
        if Options.record:
            answer.write_text(written(case, answers))
            continue
        expected = recorded(answer.read_text())
        check(len(expected) == len(case.statements), answer.name, "is of another script; record it again")
        counts["all"] += len(expected)
        for one, old, new in zip(case.statements, expected, answers):
            if not Options.reference:
                counts["refused"] += bool(one.refused)
                counts["differs"] += bool(one.differs)
                complaint = verdict(one, old, new)
            else:
                complaint = None if old == new else "is answered otherwise"
            if complaint:
                diff = "\n".join(difflib.unified_diff(old, new, "PostgreSQL", "found", lineterm="", n=1))
                wrong.append(f"{file.stem}: {one.title()}\n  {complaint}\n{diff}")
    if not Options.record:
        alike = counts["all"] - counts["refused"] - counts["differs"] - len(wrong)
        print(f"  {counts['all']} statements: {alike} as PostgreSQL, {counts['differs']} known to differ, {counts['refused']} refused")
    check(not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong))


@test
def what_differs_is_in_the_documentation():
    page = (ROOT / "docs/compatibility.md").read_text()
    for file in sorted(CASES.glob("*.case")):
        for one in script.read(file.read_text()).statements:
            words = one.differs or one.refused.partition(" ")[2]
            check(not words or words in page, file.name, words)
            check(words or not one.refused, file.name, "does not say what is refused:", one.title())


@test
def a_wrong_answer_is_seen():
    """The comparison itself, on a script whose record is another's."""
    case = script.read("[Q]\nselect 1\n\nrefused 0A000 words\n[Q]\nselect 2\n\ndiffers words\n[Q]\nselect 3\n")
    plain, refused, differs = case.statements
    one, two, no = ["columns a 23", "  1"], ["columns a 23", "  2"], ["ERROR 0A000"]
    check(verdict(plain, one, one) is None and verdict(plain, one, two) and verdict(plain, one, no))
    check(verdict(refused, one, no) is None and verdict(refused, one, one) and verdict(refused, one, ["ERROR 42601"]))
    check(verdict(differs, one, two) is None and verdict(differs, one, one))
    check(recorded(written(case, [one, two, no])) == [one, two, no], "a record reads back")


class database:
    """An empty one: PostgreSQL makes one in a server that stays, Quintet starts on a new directory."""

    kept = None

    def __enter__(self):
        self.running = server()
        if not Options.reference:
            return self.running.__enter__(), "quintet"
        one = self.running.__enter__()
        with one.connect(dbname="postgres") as above:
            above.execute("create database inventory template template0 encoding 'UTF8' locale 'C'")
        return one, "inventory"

    def __exit__(self, *error):
        return self.running.__exit__(*error)
