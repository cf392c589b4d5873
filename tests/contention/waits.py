"""Who waits for whom, and what is in the way."""

import threading
import time

from contention import doing, pid, rows, until, value
from contention.activity import columns
from harness import Options, check, equal, server, test

TEXT_HERE = {"virtualxid", "transactionid"}


@test
def columns_of_locks_are_those_of_postgresql():
    expected = "locktype text, database oid, relation oid, page integer, tuple smallint, virtualxid text, transactionid xid, " \
        "classid oid, objid oid, objsubid smallint, virtualtransaction text, pid integer, mode text, granted boolean, " \
        "fastpath boolean, waitstart timestamp with time zone"
    wanted = [tuple(column.split(" ", 1)) for column in expected.split(", ")]
    if not Options.reference:
        wanted = [(name, "text" if name in TEXT_HERE else ty) for name, ty in wanted]
    with server() as s, s.connect() as c:
        equal(columns(c, "pg_locks"), wanted)


@test
def two_sessions_block_one_another_and_an_isolation_tester_sees_it():
    with server() as s, s.connect() as holder, s.connect() as waiter, s.connect() as looker:
        holder.execute("create table t (id int primary key, n int)")
        holder.execute("insert into t values (1, 0), (2, 0)")
        one, two = pid(holder), pid(waiter)
        # What isolationtester prepares and asks again and again.
        looker.execute(f"prepare blocked(int) as select pg_catalog.pg_isolation_test_session_is_blocked($1, '{{{one},{two}}}')")
        blocked = f"execute blocked({two})"
        held_up = "select count(*) from pg_locks where pid = %s and not granted"
        holder.execute("begin")
        holder.execute("update t set n = 1 where id = 1")
        equal(value(looker, blocked), False)
        equal(value(looker, held_up, two), 0)
        with doing(waiter, "update t set n = n + 1 where id = 1"):
            until("it is blocked", lambda: value(looker, blocked))
            equal(value(looker, "select pg_blocking_pids(%s)", two), [one])
            equal(value(looker, "select pg_blocking_pids(%s)", one), [])
            # PostgreSQL says since when a little later.
            until("a lock that is waited for", lambda: value(looker, held_up + " and waitstart <= clock_timestamp()", two) == 1)
            if not Options.reference:
                waits = "select waits_for, kind, relation::text, key, since <= clock_timestamp() from quintet_waits where pid = %s"
                equal(rows(looker, waits, two), [(one, "row", "t", "id = 1", True)])
            equal(value(looker, f"execute blocked({one})"), False)
            holder.execute("commit")
        equal(value(looker, blocked), False)
        equal(value(looker, held_up, two), 0)
        equal(value(looker, "select pg_blocking_pids(%s)", two), [])
        equal(value(looker, "select n from t where id = 1"), 2)


def a_hot_row(engine):
    with server("--engine", engine) as s, s.connect() as c:
        c.execute("create table hot (id int primary key, n bigint)")
        c.execute("insert into hot select i, 0 from generate_series(1, 50) i")
        c.execute("create procedure bump(row_id int) language plpgsql as "
                  "$$ begin update hot set n = n + 1 where id = row_id; end $$")
        c.execute("select quintet_contention_reset()")
        over = threading.Event()
        wrong = []

        def call(number):
            try:
                with s.connect() as caller:
                    turn = 0
                    while not over.is_set():
                        turn += 1
                        caller.execute("call bump(%s)", [7 if turn % 3 else 10 + (turn + number) % 40])
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=call, args=[number], daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        found = "select relation::text, key from quintet_contention limit 1"
        try:
            # Somebody who holds the row while his client thinks, until that shows.
            with s.connect() as teller:
                def shows():
                    teller.execute("begin")
                    teller.execute("update hot set n = n where id = 7")
                    time.sleep(0.03)
                    teller.execute("commit")
                    return value(c, "select coalesce(sum(events), 0) from quintet_contention where key = 'id = 7'") >= 20

                until(f"waits under {engine}", shows)
        finally:
            over.set()
            for thread in threads:
                thread.join(60)
        equal(wrong, [])
        # Who lost most to whom is a matter of luck: the callers wait for each other as well.
        equal(rows(c, found), [("hot", "id = 7")], engine)
        met = rows(c, "select procedure, other from quintet_contention where key = 'id = 7'")
        check(any(procedure == "bump" for procedure, _ in met), engine, met)
        check(all(other in ("UPDATE", "bump", None) for _, other in met), engine, met)
        report = [line for (line,) in rows(c, "select * from quintet_contention_report()")]
        check(report[0].startswith("hot id = 7: "), engine, report)


if not Options.reference:
    @test
    def a_hot_row_comes_first_under_every_engine():
        for engine in ["direct", "chain", "queue", "auto"]:
            a_hot_row(engine)
