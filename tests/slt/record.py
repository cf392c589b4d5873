"""Writes down what PostgreSQL 15 answers to the questions in files, or shows where a server differs.

    python3 tests/slt/record.py /path/of/socket cases/*.sql        writes cases/*.slt
    python3 tests/slt/record.py --compare host:port cases/*.slt    prints what another server answers
    python3 tests/slt/record.py --compare host:port --against /path/of/socket file.sql

A question is a line of a `.sql` file. PostgreSQL answers in a database of its own, `slt`, whose text sorts by bytes and
whose letters are Unicode's, as Quintet's are.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import records  # noqa: E402
from wire import Failed, Wire  # noqa: E402


def questions(text):
    return [line.rstrip(";") for line in text.split("\n") if line.strip() and not line.startswith("--")]


def address(text):
    if text.startswith("/"):
        return text
    host, port = text.rsplit(":", 1)
    return (host, int(port))


def connect(where, user):
    return Wire(address(where), user=user, database=user)


def fresh(where):
    """PostgreSQL with an empty database."""
    first = connect(where, "postgres")
    first.query("drop database if exists slt")
    first.query("create database slt template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C.UTF-8'")
    first.close()
    return Wire(address(where), user="postgres", database="slt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", help="a server whose answers to compare")
    parser.add_argument("--against", help="record from here instead of reading answers")
    parser.add_argument("--brief", action="store_true", help="only count")
    parser.add_argument("rest", nargs="+")
    arguments = parser.parse_args()
    if not arguments.compare:
        where, *files = arguments.rest
        for file in map(pathlib.Path, files):
            wire = fresh(where)
            found = [records.ask(wire, sql, Failed) for sql in questions(file.read_text())]
            file.with_suffix(".slt").write_text("".join(record.write() for record in found))
            wire.close()
            print(file, len(found))
        return
    total = wrong = 0
    for file in map(pathlib.Path, arguments.rest):
        if file.suffix == ".sql":
            reference = fresh(arguments.against)
            expected = [records.ask(reference, sql, Failed) for sql in questions(file.read_text())]
            reference.close()
        else:
            expected = records.read(file.read_text())
        wire = connect(arguments.compare, "quintet")
        for record in expected:
            total += 1
            try:
                found = records.ask(wire, record.sql, Failed)
            except (ConnectionError, OSError) as error:
                print(f"CRASH {record.sql}: {error}")
                wire = connect(arguments.compare, "quintet")
                wrong += 1
                continue
            if found.answer() != record.answer():
                wrong += 1
                if not arguments.brief:
                    print(record.sql)
                    for name, one in [("postgres", record), ("quintet ", found)]:
                        print(f"   {name}: {one.kind} {one.state}{one.types} {' / '.join(one.rows)[:300]}")
        wire.close()
    print(f"{total} questions, {wrong} answered otherwise")


if __name__ == "__main__":
    main()
