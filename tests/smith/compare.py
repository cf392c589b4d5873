"""Asks a server what a generator of random statements makes up, and PostgreSQL the same.

    python3 tests/smith/compare.py --postgres HOST:PORT --quintet HOST:PORT [--seed N] [--statements N] [--seconds N]

Both are asked as role `quintet` in database `quintet`, which is to be fresh: `schema.sql` is loaded into both. The statements are those of sqlsmith (in Debian: the package
of that name), which reads from the server's catalogue what there is, so they call every function and use every type that the catalogue lists: subselects within
subselects, LATERAL, outer joins under conditions of all sorts, windows, MERGE, ON CONFLICT. Each is asked in a transaction that is rolled back. LIMIT is left out where no ORDER BY
could say which rows it means, and so is TABLESAMPLE; rows may come in any order, and what a session says of itself is not compared (times, random numbers, versions).

Printed is, most frequent first, in how many statements something was answered otherwise, and the numbers of the first of them (`--show NUMBER` prints one):

    ours fails, theirs fails    with SQLSTATE and message     state    both fail, with different SQLSTATEs
    rows, count                 other rows, or so many others   gone   the connection was lost, which is always a bug
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

import psycopg

SCHEMA = pathlib.Path(__file__).resolve().parent / "schema.sql"

# What differs from one server to the next, or from one moment to the next.
OWN = re.compile(
    r"datetime\.datetime\(20(?:2[5-9]|00, 1, 1,).*?\)\)?|UUID\(.*?\)|zoneinfo.*?\)|datetime\.timezone\.utc|[\d.]{10,}|PostgreSQL 15[^']*"
)


def main():
    arguments = read_arguments()
    servers = [Server(arguments.postgres, arguments.seconds), Server(arguments.quintet, arguments.seconds)]
    for server in servers:
        server.load()
    statements = made_up(arguments)
    if arguments.show is not None:
        print(statements[arguments.show])
        return
    found = collections.defaultdict(list)
    for number, statement in enumerate(statements):
        found[difference(*(server.ask(statement) for server in servers))].append(number)
    for what, numbers in sorted(found.items(), key=lambda one: -len(one[1])):
        print(len(numbers), what or "answered alike", numbers[:10] if what else "")


class Server:
    """One of the two."""

    def __init__(self, address, seconds):
        host, port = address.rsplit(":", 1)
        self.where = f"host={host} port={port} user=quintet dbname=quintet"
        self.seconds = seconds
        self.connection = None

    def connect(self):
        if self.connection is None or self.connection.closed:
            self.connection = psycopg.connect(self.where, autocommit=True)
            self.connection.execute(f"set statement_timeout = '{self.seconds}s'")
        return self.connection

    def load(self):
        connection = self.connect()
        if not connection.execute("select from pg_class where relname = 'totals'").fetchall():
            connection.execute(SCHEMA.read_text())
            connection.execute("analyze")

    def ask(self, statement):
        """SQLSTATE and message of an error; how many rows, and which."""
        connection = self.connect()
        try:
            connection.execute("begin")
            cursor = connection.execute(statement)
            rows = sorted(OWN.sub("~", repr(row)) for row in cursor.fetchall()) if cursor.description else []
            return None, None, cursor.rowcount, rows
        except psycopg.Error as error:
            if connection.closed:
                return "gone", "", 0, []
            message = re.sub(r'".*?"', '"…"', str(error).splitlines()[0])
            return error.sqlstate, message, 0, []
        finally:
            if not connection.closed:
                connection.execute("rollback")


def difference(theirs, ours):
    if ours[0] == "gone":
        return "gone"
    if theirs[0] and ours[0]:
        return "" if theirs[0] == ours[0] else f"state {theirs[0]} {theirs[1]} | {ours[0]} {ours[1]}"
    if theirs[0] or ours[0]:
        who, (state, message, _, _) = ("ours", ours) if ours[0] else ("theirs", theirs)
        return f"{who} fails {state} {message}"
    if theirs[2] != ours[2]:
        return "count"
    return "" if theirs[3] == ours[3] else "rows"


def made_up(arguments):
    host, port = arguments.quintet.rsplit(":", 1)
    command = ["sqlsmith", f"--target=host={host} port={port} user=quintet dbname=quintet", "--exclude-catalog", "--dry-run"]
    command += [f"--max-queries={arguments.statements}", f"--seed={arguments.seed}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"tablesample\s+(system|bernoulli)\s*\([\d.]+\)", "", text)
    text = re.sub(r"\n\s*limit \d+(?=[\s);])", "", text)
    text = text.replace("limit 1 offset", "order by 1 limit 1 offset")
    return [statement.strip() for statement in re.split(r";\n", text) if statement.strip()]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", required=True, metavar="HOST:PORT")
    parser.add_argument("--quintet", required=True, metavar="HOST:PORT")
    parser.add_argument("--seed", type=int, default=1, help="of the statements [1]")
    parser.add_argument("--statements", type=int, default=500, help="so many [500]")
    parser.add_argument("--seconds", type=int, default=3, help="that a statement may take [3]")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print this statement, and ask nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
