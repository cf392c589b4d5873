"""Answers of expressions, types and functions: records of PostgreSQL 15, asked again."""

import pathlib

from harness import Options, check, server, test
from slt import records
from slt.wire import Failed, Wire

CASES = pathlib.Path(__file__).resolve().parent / "cases"
# So many wrong answers are shown; the rest is counted.
SHOWN = 20


@test
def records_are_answered_as_postgresql_does():
    wrong, total = [], 0
    with server() as one:
        for file in sorted(CASES.glob("*.slt")):
            if Options.only and Options.only not in file.name:
                continue
            wire = Wire(("127.0.0.1", one.port), user="quintet", database="quintet")
            for record in records.read(file.read_text()):
                total += 1
                found = records.ask(wire, record.sql, Failed)
                if found.answer() != record.answer():
                    wrong.append(f"{file.name}: {record.sql}\n  {found.answer()}\n  is not {record.answer()}")
            wire.query("drop table if exists " + ", ".join(tables(wire))) if tables(wire) else None
            wire.close()
    check(total > 0, "no records")
    check(not wrong, f"{len(wrong)} of {total} records:\n" + "\n".join(wrong[:SHOWN]))


def tables(wire):
    return [row[0] for row in wire.query("select tablename from pg_tables where schemaname = 'public'")[1]]


@test
def a_wrong_answer_is_seen():
    """The comparison itself: other rows, other types and other errors differ."""
    record = records.read("query 23\nselect 1\n----\n1\n\n")[0]
    for text in [
        "query 23\nselect 1\n----\n2\n\n",
        "query 20\nselect 1\n----\n1\n\n",
        "query 23\nselect 1\n----\n\n",
        "error 22012\nselect 1\n\n",
    ]:
        other = records.read(text)[0]
        check(record.answer() != other.answer(), text)
    check(record.answer() == records.read(record.write())[0].answer(), "a record reads back")


@test
def known_differences_are_listed():
    """Every record that PostgreSQL answers otherwise is in docs/compatibility.md, by its words."""
    page = (CASES.parents[2] / "docs/compatibility.md").read_text()
    for file in sorted(CASES.glob("*.slt")):
        for record in records.read(file.read_text()):
            check(not record.difference or record.difference in page, file.name, record.difference)
