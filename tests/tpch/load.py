"""Puts the rows of TPC-H into a database, by COPY."""

import pathlib

from tpch.generate import Generator

SCHEMA = pathlib.Path(__file__).resolve().parent / "schema.sql"
# Rows of one COPY: a transaction buffers what it writes.
BATCH = 20_000


def fill(connection, scale):
    """Makes the tables and fills them; how many rows there are."""
    for statement in SCHEMA.read_text().split(";"):
        if statement.strip():
            connection.execute(statement)
    total = 0
    for table, rows in Generator(scale).tables():
        batch = []
        for row in rows:
            batch.append(row)
            if len(batch) == BATCH:
                copy(connection, table, batch)
                total += len(batch)
                batch = []
        copy(connection, table, batch)
        total += len(batch)
    return total


def copy(connection, table, rows):
    with connection.cursor().copy(f"copy {table} from stdin") as into:
        for row in rows:
            into.write_row(row)
