"""Policies, over the wire: whose rows a plan shows when roles change under it, what calls may do by every engine, and what is
there after a restart.

`cases/row_security.txt` has statements, `cases/row_security.out` what PostgreSQL 15 answered; see `privileges`.
"""

import threading
import time

import psycopg

from harness import Options, check, equal, rng, server, test

from .privileges import ENGINES, compare


@test
def rows_are_hidden_and_refused_as_by_postgresql():
    for engine in ENGINES[:1] if Options.reference else ENGINES:
        compare("row_security", engine)


def prepare(admin):
    for statement in [
        "create role ann login", "create role bob login",
        "create table t (id int primary key, who name not null, v int not null default 0)",
        "create index on t (who)",
        "insert into t select i, case i % 2 when 0 then 'ann' else 'bob' end from generate_series(1, 100) i",
        "grant all on t to ann, bob",
        "create policy mine on t using (who = current_user)",
        "alter table t enable row level security",
        "create procedure bump(i int) language plpgsql as 'begin update t set v = v + 1 where id = i; end'",
        "create function seen() returns bigint language plpgsql as 'begin return (select count(*) from t); end'",
    ]:
        admin.execute(statement)


@test
def a_prepared_statement_shows_the_rows_of_the_role_that_runs_it():
    with server() as s, s.connect() as c:
        prepare(c)
        # Known to the server from the second time on, by name.
        c.prepare_threshold = 0
        random = rng("prepared")
        rows = {"ann": 50, "bob": 50, "none": 100}
        for _ in range(200):
            role = random.choice(list(rows))
            c.execute(f"set role {role}", prepare=False)
            equal(c.execute("select count(*) from t").fetchone(), (rows[role],), role)
            equal(c.execute("select seen()").fetchone(), (rows[role],), role)
            number = random.randrange(1, 101)
            is_there = role == "none" or (number % 2 == 0) == (role == "ann")
            equal(c.execute("select count(*) from t where id = %s", [number]).fetchone(), (int(is_there),), (role, number))
            changed = c.execute("update t set v = v + 1 where id = %s returning id", [number]).fetchall()
            equal(len(changed), int(is_there), (role, number))


@test
def a_cursor_keeps_the_policies_of_who_opened_it():
    with server() as s, s.connect(autocommit=False) as c:
        prepare(c)
        c.execute("drop policy mine on t")
        c.execute("create policy even on t to ann using (id % 2 = 0)")
        c.execute("create policy odd on t to bob using (id % 2 = 1)")
        c.commit()
        c.execute("set role ann")
        with c.cursor("held") as cursor:
            cursor.itersize = 10
            cursor.execute("select id from t order by id")
            first = cursor.fetchmany(10)
            c.execute("set role bob")
            rest = cursor.fetchall()
            equal([row[0] for row in first + rest], list(range(2, 101, 2)))
        c.rollback()


@test
def calls_obey_policies_by_every_engine_side_by_side():
    with server() as s, s.connect() as admin:
        prepare(admin)
        for engine in ENGINES[:1] if Options.reference else ENGINES:
            admin.execute("update t set v = 0")
            wrong = []

            def calls(role, engine=engine, wrong=wrong):
                random = rng(f"{engine} {role}")
                with s.connect(user=role) as c:
                    if not Options.reference:
                        c.execute(f"set quintet.engine = {engine}")
                    for _ in range(150):
                        try:
                            c.execute("call bump(%s)", [random.randrange(1, 101)], prepare=True)
                        except psycopg.errors.SerializationFailure:
                            pass
                        if c.execute("select seen()", prepare=True).fetchone() != (50,):
                            wrong.append((role, engine))

            threads = [threading.Thread(target=calls, args=[role]) for role in ["ann", "bob", "ann", "bob"]]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            equal(wrong, [])
            # Each has changed rows of his own, and about half of the calls met none.
            bumped = admin.execute("select sum(v) from t").fetchone()[0]
            check(150 < bumped < 450, bumped, "calls changed a row, engine", engine)


@test
def a_statement_under_way_is_not_told_of_a_policy_halfway():
    with server() as s, s.connect() as admin, s.connect(user="quintet") as other:
        prepare(admin)
        admin.execute("alter table t disable row level security")
        stop = threading.Event()
        counts = set()

        def reads():
            with s.connect(user="quintet") as c:
                c.execute("set session authorization ann")
                while not stop.is_set():
                    counts.add(c.execute("select count(*), count(*) filter (where who = 'ann') from t", prepare=True).fetchone())

        thread = threading.Thread(target=reads)
        thread.start()
        for _ in range(20):
            other.execute("alter table t enable row level security")
            with s.connect(user="ann") as ann:
                equal(ann.execute("select count(*) from t").fetchone(), (50,))
            other.execute("alter table t disable row level security")
        stop.set()
        thread.join()
        check(counts <= {(100, 50), (50, 50)}, counts)


@test
def a_row_that_is_taken_away_meanwhile_is_neither_shown_nor_changed():
    with server() as s, s.connect(autocommit=False) as admin:
        prepare(admin)
        admin.execute("create policy free on t for insert with check (true)")
        admin.commit()
        statements = [
            ("select id from t where id = 2 for update", 0),
            ("update t set v = v + 1 where id = 2", 0),
            ("delete from t where id = 2", 0),
            ("call bump(2)", None),
            ("insert into t values (2, 'ann') on conflict (id) do update set v = 99", "42501"),
        ]
        for statement, expected in statements:
            admin.execute("update t set who = 'bob', v = 7 where id = 2")
            found = []

            def waits(statement=statement, found=found):
                with s.connect(user="ann") as ann:
                    ann.execute("set default_transaction_isolation = 'read committed'")
                    try:
                        cursor = ann.execute(statement)
                        found.append(cursor.rowcount if statement[:4] != "call" else None)
                    except psycopg.Error as error:
                        found.append(error.diag.sqlstate)

            thread = threading.Thread(target=waits)
            thread.start()
            time.sleep(0.3)
            admin.commit()
            thread.join()
            equal(found, [expected], statement)
            equal(admin.execute("select who, v from t where id = 2").fetchone(), ("bob", 7), statement)
            admin.execute("update t set who = 'ann' where id = 2")
            admin.commit()


@test
def policies_are_there_after_a_restart():
    with server() as s:
        with s.connect() as admin:
            prepare(admin)
            admin.execute("create policy low on t as restrictive for update to bob using (id < 50) with check (v < 2)")
            admin.execute("alter table t force row level security")
            admin.execute("alter role ann bypassrls")
            before = admin.execute("select * from pg_policies order by policyname").fetchall()
        for end in [s.kill, s.stop]:
            end()
            s.start()
            with s.connect() as admin:
                equal(admin.execute("select * from pg_policies order by policyname").fetchall(), before)
                flags = "select relrowsecurity, relforcerowsecurity from pg_class where relname = 't'"
                equal(admin.execute(flags).fetchone(), (True, True))
            with s.connect(user="ann") as ann:
                equal(ann.execute("select count(*) from t").fetchone(), (100,))
            with s.connect(user="bob") as bob:
                equal(bob.execute("select count(*) from t").fetchone(), (50,))
                equal(bob.execute("update t set v = 1").rowcount, 25)
                try:
                    bob.execute("call bump(1)")
                    raise AssertionError("a call was let through")
                except psycopg.errors.InsufficientPrivilege as error:
                    check('new row violates row-level security policy "low" for table "t"' in str(error), error)


@test
def keys_of_policies_and_of_users_are_used():
    if Options.reference:
        return
    with server() as s, s.connect() as admin:
        prepare(admin)

        def plan(c, statement):
            return "\n".join(row[0] for row in c.execute("explain " + statement).fetchall())

        with s.connect(user="ann") as ann:
            for statement in ["select * from t", "update t set v = 1", "delete from t"]:
                check("t_who_idx" in plan(ann, statement), plan(ann, statement))
            for statement in [
                "select * from t where id = 4", "update t set v = 1 where id = 4", "select a.id from t a join t b on b.id = a.v where a.id = 2",
            ]:
                check("t_pkey" in plan(ann, statement), plan(ann, statement))
