"""sysbench 1.0: every script for SQL databases runs to the end, and the tables have what it did.

Relies on: sysbench with its PostgreSQL driver, which ./test installs.  Promises: how much runs is counted, not timed.  sysbench itself runs an event again
for 40001, 40P01 and 23505 ("ignored errors"); anything else ends it.
"""

import contextlib
import re
import shutil

from harness import Options, check, equal, run, server, test

TABLES, ROWS, THREADS = 2, 1000, 4


def sysbench(s, script, command, *more, database="quintet", threads=THREADS, tables=TABLES, rows=ROWS, env=None):
    check(shutil.which("sysbench"), "no sysbench; install it, e.g. apt-get install sysbench")
    address = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={s.port}", "--pgsql-user=quintet", "--pgsql-password=", f"--pgsql-db={database}"]
    out = run(["sysbench", *address, f"--tables={tables}", f"--table-size={rows}", f"--threads={threads}", *more, script, command], env=env)
    # A thread may end so with the program none the wiser.
    check("FATAL" not in out, out[:4000])
    return out


def number(out, name):
    return int(re.search(rf"{name}:\s+(\d+)", out)[1])


def events(s, script, count, *more, tables=TABLES, env=None):
    """Runs so many events; returns how many ran again."""
    out = sysbench(s, script, "run", f"--events={count}", "--time=0", *more, tables=tables, env=env)
    equal(number(out, "transactions"), count, out)
    equal(number(out, "reconnects"), 0, out)
    return number(out, "ignored errors")


@contextlib.contextmanager
def tables(s):
    """The tables, filled by two threads, and gone at the end."""
    sysbench(s, "oltp_read_write", "prepare")
    with s.connect() as connection:
        yield connection
        sysbench(s, "oltp_read_write", "cleanup")
        left = connection.execute("select count(*) from pg_class where relname like 'sbtest%'").fetchone()[0]
        equal(left, 0, "relations left")


def state(connection):
    """What each table has: its rows, the sum of the indexed column, and all of it as one word."""
    sql = "select count(*), min(id), max(id), sum(k), md5(string_agg(concat_ws(',', id, k, c, pad), ';' order by id)) from sbtest{}"
    return [connection.execute(sql.format(n)).fetchone() for n in range(1, TABLES + 1)]


def indexes_agree(connection):
    """The index on k has the rows that the table has, and no others."""
    if Options.reference:
        connection.execute("set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off")
    for n in range(1, TABLES + 1):
        by_index = f"select k, id from sbtest{n} where k between -1000000000 and 1000000000 order by k limit 1000000000"
        plan = "\n".join(row[0] for row in connection.execute(f"explain {by_index}"))
        check(f"k_{n}" in plan, plan)
        of_index = connection.execute(by_index).fetchall()
        equal(of_index, sorted(of_index, key=lambda row: row[0]), "order")
        equal(sorted(of_index), sorted(connection.execute(f"select k, id from sbtest{n}").fetchall()), f"index k_{n}")


READING = [("oltp_read_only", TABLES), ("oltp_point_select", TABLES), ("select_random_points", 1), ("select_random_ranges", 1)]


@test
def every_script_runs_and_the_tables_agree():
    count = 20_000 if Options.thorough else 200
    with server() as s, tables(s) as connection:
        loaded = state(connection)
        equal([row[:3] for row in loaded], [(ROWS, 1, ROWS)] * TABLES)
        for script, width in READING:
            for mode in ("auto", "disable"):
                equal(events(s, script, count, f"--db-ps-mode={mode}", tables=width), 0, script)
        equal(state(connection), loaded, "after reading")
        sums = lambda states: sum(row[3] for row in states)  # noqa: E731

        equal(events(s, "oltp_update_index", count), 0)
        updated = state(connection)
        equal([row[:3] for row in updated], [(ROWS, 1, ROWS)] * TABLES)
        equal(sums(updated), sums(loaded) + count, "sum(k), one more for each event")
        indexes_agree(connection)

        equal(events(s, "oltp_update_non_index", count), 0)
        equal([row[:4] for row in state(connection)], [row[:4] for row in updated], "rows and k")
        check(state(connection) != updated, "nothing was updated")

        # They delete a row and insert it again.
        for script in ("oltp_read_write", "oltp_write_only"):
            for mode in ("auto", "disable"):
                again = events(s, script, count, f"--db-ps-mode={mode}")
                equal([row[:3] for row in state(connection)], [(ROWS, 1, ROWS)] * TABLES, script)
                print(f"  {script:15} {count} events, {again} run again")
        indexes_agree(connection)

        equal(events(s, "oltp_insert", count), 0)
        equal(sum(row[0] for row in state(connection)), TABLES * ROWS + count)
        indexes_agree(connection)

        equal(events(s, "oltp_delete", count), 0)
        left = sum(row[0] for row in state(connection))
        check(TABLES * ROWS <= left < TABLES * ROWS + count, left)
        indexes_agree(connection)


@test
def every_level_keeps_rows_and_indexes():
    count = 10_000 if Options.thorough else 200
    # Few rows, so that the threads meet.
    narrow = ["--rand-type=uniform", "--range-size=5"]
    with server() as s, tables(s) as connection:
        for level in ("read committed", "repeatable read", "serializable"):
            env = {"PGOPTIONS": f"-c default_transaction_isolation={level.replace(' ', chr(92) + ' ')}"}
            again = events(s, "oltp_read_write", count, *narrow, tables=TABLES, env=env)
            print(f"  {level:15} {count} events, {again} run again")
            equal([row[:3] for row in state(connection)], [(ROWS, 1, ROWS)] * TABLES, level)
            indexes_agree(connection)


@test
def bulk_insert_keeps_every_row():
    count = 1_000_000 if Options.thorough else 20_000
    with server() as s:
        sysbench(s, "bulk_insert", "prepare")
        equal(events(s, "bulk_insert", count), 0)
        with s.connect() as connection:
            rows = [connection.execute(f"select count(*), coalesce(max(id), 0), coalesce(max(k), 0) from sbtest{n}").fetchone() for n in range(1, THREADS + 1)]
        # Each thread numbers its own table's rows from 1.
        check(all(row[0] == row[1] == row[2] for row in rows), rows)
        equal(sum(row[0] for row in rows), count, rows)
        sysbench(s, "bulk_insert", "cleanup")
