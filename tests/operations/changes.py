"""The change stream: replayed into PostgreSQL 15 it gives the same tables, from any position on."""

import contextlib
import json
import subprocess
import time

from crash import bank
from harness import BINARY, Options, Reference, Server, check, directory, equal, rng, run, server, test

from .backup import url


@contextlib.contextmanager
def postgres():
    with directory() as path:
        started = Reference(path / "pg")
        started.start()
        try:
            yield started
        finally:
            started.end()


def tables(connection):
    names = "select tablename from pg_tables where schemaname = 'public' order by 1"
    return [row[0] for row in connection.execute(names).fetchall()]


def content(connection, table, key, columns="*"):
    with connection.cursor() as cursor:
        with cursor.copy(f"copy (select {columns} from {table} order by {key}) to stdout") as copy:
            return b"".join(bytes(part) for part in copy)


def position(s):
    with s.connect() as connection:
        return connection.execute("select * from quintet_changes()").fetchone()[0]


def changes(s, *more):
    return run([BINARY, "changes", "--target", url(s), *more])


def apply(p, text):
    command = ["psql", *p.arguments(), "-q", "-v", "ON_ERROR_STOP=1", "quintet"]
    run(command, text=text)


@test
def every_type_arrives_in_postgresql():
    schema = (
        'create table kinds (id int primary key, "Odd ""name" text, n numeric(20,5), f float8, g float4, b bool, d date,'
        " t timestamp, z timestamptz, i interval, y bytea, u uuid, j json, k jsonb, a int[], s text[], c char(4), m time);"
        "create table pairs (x int, y text, v bigint, primary key (y, x))"
    )
    rows = [
        "insert into kinds values (1, E'it''s \\\\ \\n \"q\" é', 12345.678, 1e300, 0.1, true, '2000-02-29', '1999-12-31 23:59:59.5',"
        " '2026-01-01 00:00:00+02', '1 mon 2 days 03:04:05', '\\xdeadbeef', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',"
        " '{\"b\" : 1, \"a\": [1,2]}', '{\"x\": null}', '{1,NULL,3}', '{a,\"b c\",NULL}', 'ab', '12:34:56')",
        "insert into kinds (id, f, d) values (2, 'NaN', 'infinity'), (3, '-Infinity', null)",
        "insert into pairs select n, 'y' || n, n::bigint * 1000000000 from generate_series(1, 50) n",
        "update pairs set v = v + 1, y = y || 'z' where x % 3 = 0",
        "delete from pairs where x % 7 = 0",
        "update kinds set n = null where id = 1",
        "truncate pairs; insert into pairs values (1, '', 1)",
    ]
    with server() as s, postgres() as p:
        start = position(s)
        with s.connect() as connection:
            connection.execute(schema)
            for row in rows:
                connection.execute(row)
        apply(p, schema)
        text = changes(s, "--from", str(start), "--format", "sql")
        apply(p, text)
        with s.connect() as ours, p.connect() as theirs:
            for table, key in [("kinds", "id"), ("pairs", "y, x")]:
                equal(content(ours, table, key), content(theirs, table, key), table)
        # Once more is the same.
        apply(p, text)
        with s.connect() as ours, p.connect() as theirs:
            equal(content(ours, "pairs", "y, x"), content(theirs, "pairs", "y, x"))
        lines = [json.loads(line) for line in changes(s, "--from", str(start)).splitlines()]
        check(all(line["position"] > start for line in lines))
        equal([line["position"] for line in lines], sorted(line["position"] for line in lines))
        check("beyond the end" in run(
            [BINARY, "changes", "--target", url(s), "--from", str(10**15)], expected=1))


@test
def transfers_under_load_are_followed_through_restarts():
    random = rng("follow")
    with directory() as path, postgres() as p:
        s = Server(path / "data", "--memory", "64MiB", "--log-archive", str(path / "archive"))
        s.start()
        try:
            start = position(s)
            bank.create(s)
            with p.connect() as connection:
                connection.execute("create table account (id int primary key, balance bigint not null)")
                connection.execute(
                    "create table ledger (id bigint primary key, payer int not null, payee int not null, amount int not null)"
                )
            everyone = []
            for number in range(3):
                clients = bank.start(s, 3, random, first=len(everyone))
                everyone += clients
                for _ in range(3):
                    time.sleep(0.3)
                    text = changes(s, "--from", str(start), "--format", "sql")
                    apply(p, text)
                    start = int(text.splitlines()[-1].rsplit(" ", 1)[1])
                    with p.connect() as connection:
                        (total,) = connection.execute("select sum(balance) from account").fetchone()
                    equal(total, bank.ACCOUNTS * bank.BALANCE, "a transaction arrived in part")
                # Nothing is shown that a crash can take back.
                s.kill()
                bank.join(clients)
                s.start()
            apply(p, changes(s, "--from", str(start), "--format", "sql"))
            with s.connect() as ours, p.connect() as theirs:
                for table in ("account", "ledger"):
                    equal(content(ours, table, "id"), content(theirs, table, "id"), table)
            bank.audit(s, everyone)
        finally:
            s.end()


@test
def tpcc_under_load_arrives_in_postgresql():
    with directory() as path, server("--memory", "256MiB") as s, postgres() as p:
        start = position(s)
        load = [BINARY, "bench", "tpcc", "--small", "--warehouses", "1", "--target", url(s), "--clients", "4"]
        run([*load, "--load", "--seconds", "0"])
        theirs = f"postgres://quintet@127.0.0.1:{p.port}/quintet"
        # The same tables, empty.
        run([BINARY, "bench", "tpcc", "--small", "--warehouses", "1", "--target", theirs, "--load", "--seconds", "0"])
        with p.connect() as connection:
            for table in tables(connection):
                connection.execute(f"truncate {table} cascade")
            # It has no primary key.
            connection.execute("alter table history add column quintet_row bigint primary key")
        follower = subprocess.Popen(
            [BINARY, "changes", "--target", url(s), "--from", str(start), "--format", "sql", "--follow"],
            stdout=open(path / "changes.sql", "wb"),
        )
        run([*load, "--seconds", "15" if Options.thorough else "5"])
        end = position(s)
        deadline = time.monotonic() + 60
        while f"-- read up to position {end}" not in (path / "changes.sql").read_text()[-200:]:
            check(time.monotonic() < deadline, "the follower does not come to the end")
            check(follower.poll() is None, "the follower has ended")
            time.sleep(0.2)
        follower.terminate()
        follower.wait()
        run(["psql", *p.arguments(), "-q", "-v", "ON_ERROR_STOP=1", "-f", path / "changes.sql", "quintet"])
        with s.connect() as ours, p.connect() as theirs:
            found = tables(ours)
            check(len(found) >= 9, found)
            for table in found:
                columns = theirs.execute(
                    "select string_agg(attname, ', ' order by attnum) from pg_attribute where attrelid = %s::regclass"
                    " and attnum > 0 and not attisdropped and attname <> 'quintet_row'", (table,)
                ).fetchone()[0]
                same = content(ours, table, columns, columns) == content(theirs, table, columns, columns)
                check(same, table, "differs")
