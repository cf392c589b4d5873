"""pg_stat_activity: sessions, what they do, and who may see it."""

from contention import doing, pid, rows, until, value
from harness import Options, check, equal, server, test

# Columns of PostgreSQL 15 whose types Quintet lacks are text.
TEXT_HERE = {"client_addr", "backend_xid", "backend_xmin"}


def columns(connection, relation):
    return rows(
        connection,
        "select attname, atttypid::regtype::text from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum",
        relation,
    )


@test
def columns_are_those_of_postgresql():
    expected = {
        "pg_stat_activity": "datid oid, datname name, pid integer, leader_pid integer, usesysid oid, usename name, "
        "application_name text, client_addr inet, client_hostname text, client_port integer, "
        "backend_start timestamp with time zone, xact_start timestamp with time zone, query_start timestamp with time zone, "
        "state_change timestamp with time zone, wait_event_type text, wait_event text, state text, backend_xid xid, "
        "backend_xmin xid, query_id bigint, query text, backend_type text",
    }
    with server() as s, s.connect() as c:
        for relation, text in expected.items():
            wanted = [tuple(column.split(" ", 1)) for column in text.split(", ")]
            if not Options.reference:
                wanted = [(name, "text" if name in TEXT_HERE else ty) for name, ty in wanted]
            equal(columns(c, relation), wanted, relation)
            found = c.execute(f"select * from {relation}")
            equal([column.name for column in found.description], [name for name, _ in wanted])


@test
def states_of_a_session():
    with server() as s, s.connect(application_name="looker") as looker, s.connect(application_name="seen") as seen:
        number = pid(seen)
        equal(seen.info.backend_pid, number, "BackendKeyData and pg_backend_pid()")

        def state():
            return rows(looker, "select state, query, wait_event_type, xact_start is not null from pg_stat_activity where pid = %s", number)

        until("idle", lambda: state() == [("idle", "select pg_backend_pid()", "Client", False)])
        seen.execute("create table t (id int primary key)")
        seen.execute("begin")
        seen.execute("select 40 + 2")
        until("in a transaction", lambda: state() == [("idle in transaction", "select 40 + 2", "Client", True)])
        try:
            seen.execute("select 1 / 0")
            check(False, "divided by zero")
        except Exception as error:
            equal(error.sqlstate, "22012")
        until("failed", lambda: state() == [("idle in transaction (aborted)", "select 1 / 0", "Client", False)])
        seen.execute("rollback")
        until("rolled back", lambda: state() == [("idle", "rollback", "Client", False)])

        # It sees itself at work, with parameters or without.
        mine = "select application_name, usename, datname, client_addr = '127.0.0.1', client_port > 0, backend_type, state, query " \
            "from pg_stat_activity where pid = pg_backend_pid()"
        (row,) = rows(looker, mine)
        equal(row, ("looker", "quintet", "quintet", True, True, "client backend", "active", mine))
        times = "select backend_start <= query_start, query_start <= clock_timestamp(), xact_start <= query_start, " \
            "now() = xact_start from pg_stat_activity where pid = pg_backend_pid()"
        equal(rows(looker, times), [(True, True, True, True)])
        seen.execute("set application_name = 'other'")
        named = "select count(*) from pg_stat_activity where application_name = 'other'"
        until("a new name", lambda: value(looker, named) == 1)
        count = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
        equal(value(looker, count), 2)
        seen.close()
        until("one left", lambda: value(looker, count) == 1)


@test
def a_prepared_statement_sees_the_moment():
    with server() as s, s.connect() as looker:
        looker.execute("prepare who as select count(*) from pg_stat_activity where backend_type = 'client backend'")
        equal(value(looker, "execute who"), 1)
        with s.connect() as other:
            pid(other)
            equal(value(looker, "execute who"), 2)
        until("the other has left", lambda: value(looker, "execute who") == 1)


@test
def who_waits_shows_it_and_can_be_stopped():
    with server() as s, s.connect() as holder, s.connect() as waiter, s.connect() as looker:
        holder.execute("create table t (id int primary key, n int)")
        holder.execute("insert into t values (1, 0)")
        number = pid(waiter)

        def waits():
            return rows(
                looker,
                "select state, wait_event_type, query from pg_stat_activity where pid = %s and wait_event_type = 'Lock'", number
            )

        holder.execute("begin")
        holder.execute("update t set n = 1 where id = 1")
        with doing(waiter, "update t set n = 2 where id = 1", expected="57014"):
            equal(until("it waits", waits), [("active", "Lock", "update t set n = 2 where id = 1")])
            equal(value(looker, "select pg_cancel_backend(%s)", number), True)
        equal(value(looker, "select pg_cancel_backend(0)"), False)
        with doing(waiter, "update t set n = 3 where id = 1", expected="57P01"):
            until("it waits", waits)
            equal(value(looker, "select pg_terminate_backend(%s)", number), True)
        gone = "select count(*) from pg_stat_activity where pid = %s"
        until("it has gone", lambda: value(looker, gone, number) == 0)
        holder.execute("rollback")


@test
def others_see_little_of_a_session():
    with server() as s, s.connect() as owner:
        for statement in [
            "create role worker login", "create role boss login", "create role stranger login", "create role doctor login",
            "grant worker to boss", "grant pg_read_all_stats to doctor",
        ]:
            owner.execute(statement)
        with s.connect(user="worker") as worker:
            worker.execute("select 'secret'")
            number = pid(worker)
            worker.execute("select 'secret'")
            seen = "select usename, state, query, backend_type from pg_stat_activity where pid = %s"
            whole = [("worker", "idle", "select 'secret'", "client backend")]
            for role, expected in [
                ("quintet", whole), ("boss", whole), ("doctor", whole),
                ("stranger", [("worker", None, "<insufficient privilege>", None)]),
            ]:
                with s.connect(user=role) as looker:
                    until(f"what {role} sees", lambda: rows(looker, seen, number) == expected)
            with s.connect(user="stranger") as stranger:
                for sql in ["select pg_cancel_backend(%s)", "select pg_terminate_backend(%s)"]:
                    try:
                        value(stranger, sql, number)
                        check(False, sql)
                    except Exception as error:
                        equal(error.sqlstate, "42501", str(error))
