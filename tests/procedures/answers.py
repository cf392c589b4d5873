"""Stored procedures: every script of `cases` is answered as PostgreSQL 15 answered it.

Relies on: `cases/NAME.sql` and the answer of PostgreSQL beside it, `NAME.out`.  Promises: a script that
is answered otherwise is named in `known_differences` with the reason, and one that is named there is
answered otherwise.  Does not: record anything but PostgreSQL's answers (`--reference --record`), or
compare two transactions that run at once.
"""

import difflib
import pathlib

from harness import Options, check, equal, test

from procedures.databases import databases
from procedures.script import Runner

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"


def known_differences(text):
    """Names with reasons; a line is `NAME: reason`. Names of refusals (refused.py) begin with their folder."""
    known = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            check(reason.strip(), "no reason for", line)
            check(name not in known, "named twice:", name)
            known[name] = reason.strip()
    return known


def difference(name, expected, found):
    """A unified diff, empty if they agree."""
    lines = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), f"{name}.out (PostgreSQL 15)", "found", lineterm="", n=2
    )
    return "\n".join(lines)


def complaints(differing, known, every):
    """What is wrong with a run: `differing` are names, `every` the names that were run."""
    new = [name for name in every if name in differing and name not in known]
    gone = [name for name in every if name in known and name not in differing]
    return [f"differs and is not among the known differences: {name}" for name in new] + [
        f"agrees; take it out of the known differences: {name}" for name in gone
    ]


def judge(differing, every):
    """Prints how the run stands and fails if the known differences do not say so."""
    text = (HERE / "known_differences").read_text()
    known = {} if Options.reference else known_differences(text)
    print(f"  {len(every) - len(differing)} of {len(every)} agree")
    for name in differing:
        print(f"  differs: {name}" + (f" ({known[name]})" if name in known else ""))
    wrong = complaints(differing, known, every)
    check(not wrong, "\n".join(["", *wrong]))


def answer(open_database, name):
    with open_database() as connection:
        return Runner(connection).run((CASES / f"{name}.sql").read_text())


def names(folder):
    """The scripts of a folder that this run is about."""
    every = sorted(path.stem for path in folder.glob("*.sql"))
    check(every, "there are no scripts in", folder)
    return [name for name in every if not Options.only or Options.only in name]


@test
def every_script_is_answered_as_by_postgresql():
    chosen = names(CASES)
    differences = {}
    if Options.record and not Options.only:
        for recorded in CASES.glob("*.out"):
            recorded.unlink()
    with databases() as open_database:
        for name in chosen:
            found, recorded = answer(open_database, name), CASES / f"{name}.out"
            if Options.record:
                recorded.write_text(found)
            check(recorded.exists(), name, "has no answer; record it with --reference --record")
            if diff := difference(name, recorded.read_text(), found):
                differences[name] = diff
    known = known_differences((HERE / "known_differences").read_text())
    for name, diff in differences.items():
        # Who runs a few is at work on them and wants to see.
        if Options.reference or Options.only or name not in known:
            print(diff)
    judge(differences, chosen)


@test
def every_answer_and_known_difference_has_its_script():
    there = {path.stem for path in CASES.glob("*.sql")} | {f"refusals/{path.stem}" for path in (HERE / "refusals").glob("*.sql")}
    named = {path.stem for path in CASES.glob("*.out")} | set(known_differences((HERE / "known_differences").read_text()))
    equal(named - there, set(), "no script for these:")
