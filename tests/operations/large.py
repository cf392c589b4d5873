"""Loads and schema changes that are larger than what one transaction may buffer, a tenth of the memory."""

import threading
import time

import psycopg

from harness import check, directory, equal, run, server, test

# A transaction may buffer 1.7 MB: a tenth of what the program does not take for itself.
MEMORY = ("--memory", "64MiB")
ROWS = 200_000
TABLE = "create table t (id int not null, note text not null)"
EXPECTED = (ROWS, ROWS * (ROWS - 1) // 2)


def copy(cursor, table="t", last=None):
    """Copies some 14 MB; then a line that may be wrong."""
    with cursor.copy(f"copy {table} from stdin") as into:
        for first in range(0, ROWS, 1000):
            into.write("".join(f"{n}\ta note of some length about the number {n}\n" for n in range(first, first + 1000)))
        if last:
            into.write(last)


def content(connection, table="t"):
    return connection.execute(f"select count(*), sum(id) from {table}").fetchone()


def refused(state, action):
    try:
        action()
    except psycopg.Error as error:
        equal(error.sqlstate, state)
        return error
    raise AssertionError(f"{state} was expected")


@test
def a_table_is_loaded_in_the_transaction_that_makes_it():
    with server(*MEMORY) as quintet:
        for level in ("read committed", "serializable"):
            with quintet.connect(autocommit=False) as connection, quintet.connect() as other:
                connection.execute(f"set transaction isolation level {level}")
                connection.execute(TABLE)
                copy(connection.cursor())
                connection.execute("alter table t add primary key (id)")
                connection.execute("create index on t (note)")
                equal(content(connection), EXPECTED)
                refused("42P01", lambda: content(other))
                connection.execute("insert into t values (-1, 'one more')")
                connection.execute("update t set id = -2 where note = 'a note of some length about the number 0'")
                connection.commit()
                equal(content(other), (ROWS + 1, EXPECTED[1] - 3))
                equal(other.execute("select id from t where note = 'one more'").fetchall(), [(-1,)])
                refused("23505", lambda: other.execute("insert into t values (77, 'there')"))
            quintet.kill()
            quintet.start()
            with quintet.connect() as connection:
                equal(content(connection), (ROWS + 1, EXPECTED[1] - 3))
                found = "select id from t where note = 'a note of some length about the number 199999'"
                equal(connection.execute(found).fetchall(), [(199_999,)])
                connection.execute("drop table t")


@test
def a_table_of_the_block_is_filled_from_a_query_by_a_statement_of_its_own():
    """A query is tried briefly first, where others wait for it: what it has committed ahead by then must not come twice."""
    with server(*MEMORY) as quintet:
        for key in ("", "primary key"):
            for rows, length in ((ROWS, 30), (3000, 10_000)):
                with quintet.connect(autocommit=False) as connection, quintet.connect() as other:
                    connection.execute(f"create table f (id int {key}, note text)")
                    connection.execute(f"insert into f select n, repeat('x', {length}) || n from generate_series(1, {rows}) n")
                    counted = "select count(*), count(distinct id), sum(length(note) - length(id::text)) from f"
                    expected = (rows, rows, rows * length)
                    equal(connection.execute(counted).fetchone(), expected)
                    connection.commit()
                    equal(other.execute(counted).fetchone(), expected)
                    other.execute("drop table f")


@test
def a_load_that_comes_to_nothing_leaves_the_table_as_it_was():
    with server(*MEMORY) as quintet, quintet.connect() as connection:
        connection.execute(TABLE)
        connection.execute("insert into t values (1, 'before')")

        def fails():
            with connection.transaction():
                connection.execute("truncate t")
                copy(connection.cursor(), last="not a number\tx\n")

        refused("22P02", fails)
        equal(content(connection), (1, 1))
        # A row is there, which must not go.
        error = refused("53200", lambda: copy(connection.cursor()))
        check("transaction" in error.diag.message_hint, error.diag.message_hint)
        equal(content(connection), (1, 1))
        with connection.transaction():
            connection.execute("truncate t")
            # Somebody may want to come back to here.
            connection.execute("savepoint a")
            refused("53200", lambda: copy(connection.cursor()))
            connection.execute("rollback to a")
            equal(content(connection), (0, None))
            connection.execute("release a")
            copy(connection.cursor())
            connection.execute("savepoint b")
            connection.execute("delete from t where id < 100")
            connection.execute("rollback to b")
            equal(content(connection), EXPECTED)
        equal(content(connection), EXPECTED)


@test
def a_load_that_is_killed_leaves_nothing():
    with server(*MEMORY) as quintet:
        with quintet.connect() as connection:
            connection.execute(TABLE)
            connection.execute("insert into t values (2, 'before')")
        doomed = quintet.connect()
        doomed.execute("begin")
        doomed.execute("truncate t")
        copy(doomed.cursor())
        quintet.kill()
        doomed.close()
        quintet.start()
        with quintet.connect() as connection:
            equal(content(connection), (1, 2))
            connection.execute("create table next (id int primary key)")
            connection.execute("insert into next select generate_series(1, 1000)")
            connection.execute("checkpoint")
            equal(content(connection, "next"), (1000, 500_500))
            equal(content(connection), (1, 2))


@test
def pgbench_fills_tables_that_are_larger_than_a_transaction():
    with server(*MEMORY) as quintet:
        run(["pgbench", "-i", "-s", "3", "-q", *quintet.arguments()])
        with quintet.connect() as connection:
            found = connection.execute("select count(*), sum(aid) from pgbench_accounts").fetchone()
            equal(found, (300_000, 45_000_150_000))
            equal(connection.execute("select bid from pgbench_accounts where aid = 234567").fetchone(), (3,))


@test
def a_table_that_is_there_and_empty_is_loaded():
    tables = {
        "keyed": "create table t (id int primary key, note text not null check (note <> ''))",
        "not keyed": TABLE,
    }
    for name, table in tables.items():
        with server(*MEMORY) as quintet, quintet.connect() as connection, quintet.connect() as other:
            connection.execute(table)
            connection.execute("create index on t (note)")
            # What was there is no reason to refuse.
            connection.execute("insert into t values (5, 'gone'); delete from t")
            copy(connection.cursor())
            equal(content(other), EXPECTED)
            other.execute("insert into t values (-1, 'one more')")
            equal(content(connection), (ROWS + 1, EXPECTED[1] - 1), name)
            found = "select id from t where note = 'a note of some length about the number 77'"
            equal(other.execute(found).fetchall(), [(77,)])
            connection.execute("truncate t")
            with quintet.connect(autocommit=False) as block:
                copy(block.cursor())
                block.execute("insert into t values (-2, 'in the block')")
                equal(content(block), (ROWS + 1, EXPECTED[1] - 2))
                equal(content(other), (0, None))
                block.rollback()
            equal(content(connection), (0, None))
            copy(connection.cursor())
            quintet.kill()
            quintet.start()
            with quintet.connect() as connection:
                equal(content(connection), EXPECTED)


@test
def what_fits_is_loaded_beside_a_block_that_has_written_to_the_table():
    with server(*MEMORY) as quintet, quintet.connect() as connection, quintet.connect(autocommit=False) as late:
        connection.execute("create table t (id int primary key, note text not null)")
        connection.execute("create table u (id int primary key, note text not null)")
        connection.execute("set statement_timeout = '20s'")
        late.execute("insert into t values (-1, 'not committed')")
        with connection.cursor().copy("copy t from stdin") as into:
            for n in range(1, 18_001):
                into.write(f"{n}\ta note of some length about the number {n}\n")
        equal(content(connection), (18_000, 162_009_000))
        late.execute("insert into u values (-1, 'not committed')")
        connection.execute("insert into u select * from t")
        equal(content(connection, "u"), (18_000, 162_009_000))
        late.commit()
        equal(content(connection, "u"), (18_001, 162_008_999))


@test
def limits_of_time_hold_for_what_is_loaded():
    def load(lines, between=0):
        with connection.cursor().copy("copy t from stdin") as into:
            for n in range(1, lines + 1):
                into.write(f"{n}\ta note of some length about the number {n}\n")
                time.sleep(between)

    with server(*MEMORY) as quintet, quintet.connect() as connection, quintet.connect(autocommit=False) as late:
        connection.execute("create table t (id int primary key, note text not null)")
        # So many rows cannot be loaded without a wait for a block that has written to the table.
        late.execute("insert into t values (-1, 'not committed')")
        for limit, state in (("statement_timeout", "57014"), ("lock_timeout", "55P03")):
            connection.execute(f"set {limit} = '1s'")
            error = refused(state, lambda: load(30_000))
            check(limit.replace("_", " ") in str(error), error)
            connection.execute(f"reset {limit}")
        # A client that is slow to send is told when it sends more.
        connection.execute("set statement_timeout = '200ms'")
        error = refused("57014", lambda: load(2, between=0.5))
        check("statement timeout" in str(error), error)
        connection.execute("reset statement_timeout")
        late.rollback()
        equal(content(connection), (0, None))


def is_closed(connection):
    """Whether somebody keeps others from writing to the table."""
    try:
        with connection.transaction():
            connection.execute("lock table t nowait")
    except psycopg.errors.LockNotAvailable:
        return True
    return False


def end_when_waited_for(quintet, late):
    """Nobody is told that he has lost because of a load: it waits, and lets others change their tables."""
    waits = "select count(*) from pg_locks where locktype in ('tuple', 'relation') and not granted"
    with quintet.connect() as reader:
        while reader.execute(waits).fetchone()[0] == 0:
            time.sleep(0.05)
        reader.execute("create table beside (n int)")
    late.execute("rollback")


@test
def others_meet_a_table_that_is_being_loaded():
    with server(*MEMORY) as quintet, quintet.connect() as connection, quintet.connect() as other, quintet.connect() as late:
        connection.execute("create table t (id int primary key, note text not null)")
        late.execute("begin")
        late.execute("insert into t values (-2, 'not committed')")
        waiting = threading.Thread(target=lambda: other.execute("insert into t values (-1, 'waited')"))
        ending = threading.Thread(target=lambda: end_when_waited_for(quintet, late))
        ending.start()
        with connection.cursor().copy("copy t from stdin") as into:
            for first in range(0, ROWS, 1000):
                into.write("".join(f"{n}\ta note of some length about the number {n}\n" for n in range(first, first + 1000)))
            with quintet.connect() as reader:
                while not is_closed(reader):
                    time.sleep(0.05)
                equal(content(reader), (0, None))
            waiting.start()
            waiting.join(0.5)
            check(waiting.is_alive(), "a row was put into a table that is being loaded")
        waiting.join()
        ending.join()
        equal(content(connection), (ROWS + 1, EXPECTED[1] - 1))

        # Somebody has been there first.
        connection.execute("truncate t")

        def is_overtaken():
            with connection.cursor().copy("copy t from stdin") as into:
                into.write("1\tone\n")
                other.execute("insert into t values (-1, 'first')")
                for n in range(2, ROWS):
                    into.write(f"{n}\ta note of some length about the number {n}\n")

        refused("53200", is_overtaken)
        equal(content(connection), (1, -1))


@test
def a_load_into_an_empty_table_that_comes_to_nothing_leaves_it_empty():
    with server(*MEMORY) as quintet:
        with quintet.connect() as connection:
            connection.execute(TABLE)
            refused("22P02", lambda: copy(connection.cursor(), last="not a number\tx\n"))
            equal(content(connection), (0, None))
            connection.execute("insert into t values (3, 'after')")
            equal(content(connection), (1, 3))
            connection.execute("truncate t")
        doomed = quintet.connect(autocommit=False)
        copy(doomed.cursor())
        quintet.kill()
        doomed.close()
        quintet.start()
        with quintet.connect() as connection:
            equal(content(connection), (0, None))
            copy(connection.cursor())
            equal(content(connection), EXPECTED)


@test
def a_dump_is_read_in_one_transaction_or_in_many():
    with server(*MEMORY) as quintet, server(*MEMORY) as other, directory() as path:
        run(["pgbench", "-i", "-I", "dtgpf", "-s", "2", "-q", *quintet.arguments()])
        dump = path / "dump.sql"
        dump.write_text(run(["pg_dump", *quintet.arguments()]))
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump]
        for ways in ([], ["-1"]):
            run([*command, *ways, *other.arguments()])
            with other.connect() as connection:
                found = connection.execute("select count(*), sum(aid), sum(abalance) from pgbench_accounts").fetchone()
                equal(found, (200_000, 20_000_100_000, 0))
                keys = connection.execute("select count(*) from pg_constraint where contype in ('p', 'f')").fetchone()
                equal(keys, (8,))
                connection.execute("drop table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")
