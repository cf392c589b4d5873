"""Loads and schema changes that are larger than what one transaction may buffer, a tenth of the memory."""

import psycopg

from harness import check, directory, equal, run, server, test

# A transaction may buffer 6.4 MB.
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
def a_dump_is_read_in_one_transaction():
    with server(*MEMORY) as quintet, server(*MEMORY) as other, directory() as path:
        run(["pgbench", "-i", "-I", "dtgpf", "-s", "2", "-q", *quintet.arguments()])
        dump = path / "dump.sql"
        dump.write_text(run(["pg_dump", *quintet.arguments()]))
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump]
        refused = run([*command, *other.arguments()], expected=3)
        check("transaction is too large" in refused, refused)
        with other.connect() as connection:
            connection.execute("drop table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")
        run([*command, "-1", *other.arguments()])
        with other.connect() as connection:
            found = connection.execute("select count(*), sum(aid), sum(abalance) from pgbench_accounts").fetchone()
            equal(found, (200_000, 20_000_100_000, 0))
            keys = connection.execute("select count(*) from pg_constraint where contype in ('p', 'f')").fetchone()
            equal(keys, (8,))
