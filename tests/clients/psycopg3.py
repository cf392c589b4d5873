"""psycopg 3: parameters, prepared statements, batches, COPY, pipelines, levels, error codes."""

import datetime
import decimal
import threading
import time
import uuid

import psycopg
from harness import check, equal, server, test
from psycopg import IsolationLevel


@test
def connects_and_reports_a_server_version():
    with server() as s, s.connect(application_name="tests") as connection:
        check(connection.info.server_version >= 150000, connection.info.server_version)
        equal(connection.info.parameter_status("application_name"), "tests")
        equal(connection.info.parameter_status("standard_conforming_strings"), "on")
        equal(connection.info.encoding, "utf-8")
        equal(connection.execute("select 1 + 1").fetchone(), (2,))


@test
def values_of_every_type_round_trip():
    values = {
        "bool": True,
        "int2": 7,
        "int4": -70000,
        "int8": 1 << 40,
        "float8": 0.1,
        "numeric": decimal.Decimal("12345678901234567890.123"),
        "text": "naïve ☃ 'quoted' \\ \n",
        "varchar": "",
        "bytea": bytes(range(256)),
        "date": datetime.date(2026, 2, 28),
        "timestamp": datetime.datetime(2026, 2, 28, 23, 59, 59, 123456),
        "timestamptz": datetime.datetime(2026, 2, 28, 23, 59, 59, tzinfo=datetime.timezone.utc),
        "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    }
    columns = ", ".join(f"c_{name} {name}" for name in values)
    places = ", ".join(["%s"] * len(values))
    with server() as s, s.connect() as connection:
        connection.execute(f"create table t (id int primary key, {columns})")
        connection.execute(f"insert into t values (1, {places})", list(values.values()))
        connection.execute(f"insert into t values (2, {places})", [None] * len(values))
        for binary in (False, True):
            with connection.cursor(binary=binary) as cursor:
                row = cursor.execute("select * from t where id = 1").fetchone()
                for (name, value), found in zip(values.items(), row[1:]):
                    equal(found, value, f"{name} binary={binary}")
                row = cursor.execute("select * from t where id = 2").fetchone()
                equal(row[1:], (None,) * len(values))


@test
def prepared_statements_follow_a_table_that_changes():
    with server() as s, s.connect() as connection:
        connection.execute("create table t (id int primary key, v int)")
        for i in range(20):
            connection.execute("insert into t values (%s, %s)", (i, i * i), prepare=True)
        for i in range(20):
            found = connection.execute("select v from t where id = %s", (i,), prepare=True).fetchone()
            equal(found, (i * i,))
        connection.execute("create index t_v on t (v)")
        equal(connection.execute("select v from t where id = %s", (3,), prepare=True).fetchone(), (9,))


@test
def batches_and_pipelines():
    with server() as s, s.connect(autocommit=False) as connection:
        connection.execute("create table t (id int primary key, v text)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into t values (%s, %s)", [(i, f"row {i}") for i in range(1000)])
            equal(cursor.rowcount, 1000)
        connection.commit()
        with connection.pipeline():
            cursors = [connection.execute("select v from t where id = %s", (i,)) for i in range(200)]
            equal([c.fetchone()[0] for c in cursors], [f"row {i}" for i in range(200)])
        connection.commit()
        # An error in a pipeline fails what follows it up to the sync, and nothing after.
        with check_raises(psycopg.errors.UniqueViolation):
            with connection.pipeline() as pipeline:
                connection.execute("insert into t values (2000, 'new')")
                connection.execute("insert into t values (5, 'old')")
                connection.execute("insert into t values (2001, 'new')")
                pipeline.sync()
        connection.rollback()
        equal(connection.execute("select count(*) from t").fetchone(), (1000,))


@test
def copy_in_and_out():
    with server() as s, s.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id int primary key, v text)")
        with cursor.copy("copy t from stdin") as copy:
            for i in range(5000):
                copy.write_row((i, None if i % 10 == 0 else f"tab\t{i}"))
        with cursor.copy("copy t (id, v) from stdin (format binary)") as copy:
            copy.set_types(["int4", "text"])
            for i in range(5000, 6000):
                copy.write_row((i, "binary"))
        equal(cursor.execute("select count(*), count(v) from t").fetchone(), (6000, 5500))
        with cursor.copy("copy t to stdout") as copy:
            rows = [row for row in copy.rows()]
        equal(len(rows), 6000)
        check(("11", "tab\t11") in rows, rows[:12])
        with check_raises(psycopg.errors.UniqueViolation):
            with cursor.copy("copy t from stdin") as copy:
                copy.write_row((10_000, "new"))
                copy.write_row((1, "old"))
        equal(cursor.execute("select count(*) from t where id = 10000").fetchone(), (0,))


@test
def server_side_cursors():
    with server() as s, s.connect(autocommit=False) as connection:
        connection.execute("create table t (id int primary key)")
        connection.cursor().executemany("insert into t values (%s)", [(i,) for i in range(500)])
        with connection.cursor("c") as cursor:
            cursor.itersize = 70
            cursor.execute("select id from t order by id")
            equal([row[0] for row in cursor], list(range(500)))


@test
def each_level_does_what_it_says():
    with server() as s, s.connect() as setup:
        setup.execute("create table t (id int primary key, v int)")
        setup.execute("insert into t values (1, 0), (2, 0)")
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE):
            setup.execute("update t set v = 0")
            with s.connect(autocommit=False) as a:
                a.isolation_level = level
                equal(a.execute("show transaction_isolation").fetchone()[0], level.name.lower().replace("_", " "))
                equal(a.execute("select v from t where id = 1").fetchone(), (0,))
                setup.execute("update t set v = 1 where id = 1")
                sees = a.execute("select v from t where id = 1").fetchone()[0]
                equal(sees, 1 if level is IsolationLevel.READ_COMMITTED else 0, level.name)
                # Lost update: allowed to go on at the weakest level only.
                if level is IsolationLevel.READ_COMMITTED:
                    a.execute("update t set v = v + 10 where id = 1")
                    a.commit()
                    equal(setup.execute("select v from t where id = 1").fetchone(), (11,))
                else:
                    with check_raises(psycopg.errors.SerializationFailure):
                        a.execute("update t set v = v + 10 where id = 1")
                        a.commit()
                    a.rollback()


def write_skew(s, level):
    """Two that each read both rows and clear one; returns how many committed."""
    with s.connect() as setup:
        setup.execute("update t set v = 1")
    with s.connect(autocommit=False) as a, s.connect(autocommit=False) as b:
        a.isolation_level = b.isolation_level = level
        committed = 0
        for connection in (a, b):
            equal(connection.execute("select sum(v) from t").fetchone()[0], 2)
        for connection, row in ((a, 1), (b, 2)):
            try:
                connection.execute("update t set v = 0 where id = %s", (row,))
                connection.commit()
                committed += 1
            except psycopg.errors.SerializationFailure:
                connection.rollback()
        return committed


@test
def write_skew_is_refused_at_serializable_only():
    with server() as s, s.connect() as setup:
        setup.execute("create table t (id int primary key, v int)")
        setup.execute("insert into t values (1, 1), (2, 1)")
        equal(write_skew(s, IsolationLevel.REPEATABLE_READ), 2)
        equal(write_skew(s, IsolationLevel.SERIALIZABLE), 1)


@test
def errors_have_their_codes_and_the_connection_goes_on():
    cases = [
        ("selec 1", "42601"),
        ("select * from nothing", "42P01"),
        ("select nothing from t", "42703"),
        ("select nothing(1)", "42883"),
        ("insert into t values (1, 1)", "23505"),
        ("insert into t values (null, 1)", "23502"),
        ("insert into t values (3, -1)", "23514"),
        ("insert into t values ('x', 1)", "22P02"),
        ("insert into t values (99999999999, 1)", "22003"),
        ("select 1 / 0", "22012"),
        ("create table t (a int)", "42P07"),
        ("select $1", "42P02"),
    ]
    with server() as s, s.connect() as connection:
        connection.execute("create table t (id int primary key, v int check (v >= 0))")
        connection.execute("insert into t values (1, 1)")
        for sql, state in cases:
            try:
                connection.execute(sql)
                check(False, sql, "succeeded")
            except psycopg.Error as error:
                equal(error.sqlstate, state, sql)
            equal(connection.execute("select 1").fetchone(), (1,))
        try:
            connection.execute("insert into t values (1, 1)")
        except psycopg.errors.UniqueViolation as error:
            equal((error.diag.table_name, error.diag.constraint_name), ("t", "t_pkey"))
            check("(id)=(1)" in error.diag.message_detail, error.diag.message_detail)


@test
def a_failed_transaction_takes_only_rollback():
    with server() as s, s.connect(autocommit=False) as connection:
        connection.execute("create table t (id int primary key)")
        connection.commit()
        connection.execute("insert into t values (1)")
        with check_raises(psycopg.errors.UniqueViolation):
            connection.execute("insert into t values (1)")
        with check_raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select 1")
        connection.rollback()
        equal(connection.execute("select count(*) from t").fetchone(), (0,))
        # A savepoint keeps what was before it.
        connection.execute("insert into t values (1)")
        with check_raises(psycopg.errors.UniqueViolation):
            with connection.transaction():
                connection.execute("insert into t values (1)")
        connection.execute("insert into t values (2)")
        connection.commit()
        equal(connection.execute("select count(*) from t").fetchone(), (2,))


@test
def a_row_lock_waits_and_a_cancel_ends_the_wait():
    with server() as s, s.connect(autocommit=False) as a, s.connect(autocommit=False) as b:
        a.execute("create table t (id int primary key, v int)")
        a.execute("insert into t values (1, 0)")
        a.commit()
        a.execute("update t set v = 1 where id = 1")
        timer = threading.Timer(0.5, b.cancel)
        timer.start()
        with check_raises(psycopg.errors.QueryCanceled):
            b.execute("update t set v = 2 where id = 1")
        timer.join()
        b.rollback()
        timer = threading.Timer(0.3, a.commit)
        timer.start()
        b.execute("update t set v = v + 10 where id = 1")
        timer.join()
        b.commit()
        equal(a.execute("select v from t").fetchone(), (11,))


@test
def who_sleeps_keeps_nobody_waiting_and_can_be_woken():
    with server() as s, s.connect() as a, s.connect() as b:
        begun = time.monotonic()
        equal(a.execute("select pg_sleep(0.3)").fetchone(), ("",))
        equal(a.execute("select pg_sleep(%s::float8) as slept", (0.2,)).fetchone(), ("",))
        check(time.monotonic() - begun >= 0.5)
        equal(a.execute("select pg_sleep(null)").fetchone(), (None,))
        equal(a.execute("select pg_sleep(-1)").fetchone(), ("",))
        # A limit for locks is none for this; one for statements is.
        a.execute("set lock_timeout = 50; set statement_timeout = 0")
        equal(a.execute("select pg_sleep(0.2)").fetchone(), ("",))
        a.execute("set statement_timeout = 100")
        begun = time.monotonic()
        with check_raises(psycopg.errors.QueryCanceled, "statement timeout"):
            a.execute("select pg_sleep(60)")
        check(time.monotonic() - begun < 20)
        a.execute("reset statement_timeout")
        # Many at once, on as many connections; others are answered meanwhile.
        begun = time.monotonic()
        sleepers = [s.connect() for _ in range(20)]
        threads = [threading.Thread(target=c.execute, args=("select pg_sleep(1)",)) for c in sleepers]
        for thread in threads:
            thread.start()
        deadline = begun + 30
        asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and wait_event_type = 'Timeout'"
        while b.execute(asleep).fetchone() != (20,) and time.monotonic() < deadline:
            pass
        check(time.monotonic() < deadline)
        for thread in threads:
            thread.join()
        check(time.monotonic() - begun >= 1)
        for c in sleepers:
            c.close()
        timer = threading.Timer(0.3, b.cancel)
        timer.start()
        with check_raises(psycopg.errors.QueryCanceled, "user request"):
            b.execute("select pg_sleep(60)")
        equal(b.execute("select 1").fetchone(), (1,))


class check_raises:
    """Fails unless the block raises an error of this class, with these words."""

    def __init__(self, kind, words=""):
        self.kind = kind
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        check(kind is not None, "expected", self.kind.__name__)
        check(self.words in str(error), error)
        return issubclass(kind, self.kind)
