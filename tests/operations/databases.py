"""Several databases in one server: whom a name reaches, who may connect, and what a killed server has of those that were made and dropped."""

import threading
import time

import psycopg

from harness import BINARY, check, equal, rng, run, server, test


def refused(work):
    try:
        work()
    except psycopg.Error as error:
        return error.sqlstate or str(error)
    return None


def cannot_connect(s, name, **more):
    """What a connection is refused with: psycopg has no SQLSTATE for it."""
    try:
        s.connect(dbname=name, **more).close()
    except psycopg.OperationalError as error:
        return str(error)
    return ""


@test
def a_database_is_reached_by_its_name_and_is_alone():
    with server() as s, s.connect() as first:
        first.execute("create table t (v text)")
        first.execute("create database shop")
        with s.connect(dbname="shop") as shop:
            equal(shop.execute("select current_database()").fetchone(), ("shop",))
            equal(refused(lambda: shop.execute("select * from t")), "42P01")
            shop.execute("create table t (v text)")
            shop.execute("insert into t values ('shop')")
            equal(first.execute("select count(*) from t").fetchone(), (0,))
            equal(refused(lambda: first.execute("drop database shop")), "55006")
        first.execute("drop database shop")
        check("does not exist" in cannot_connect(s, "shop"))
        with s.connect(dbname="any") as other:
            equal(other.execute("select count(*) from t").fetchone(), (0,))


@test
def who_is_there_is_sent_away_with_force_and_waited_for_without():
    with server() as s, s.connect() as first:
        first.execute("create database shop")
        leaving = s.connect(dbname="shop")
        later = threading.Timer(0.5, leaving.close)
        later.start()
        first.execute("drop database shop")
        later.join()
        first.execute("create database shop")
        staying = s.connect(dbname="shop")
        began = time.monotonic()
        first.execute("drop database shop with (force)")
        check(time.monotonic() - began < 4, "it was not sent away")
        equal(refused(lambda: staying.execute("select 1")), "57P01")


@test
def who_lacks_connect_is_not_let_in():
    with server() as s, s.connect() as first:
        first.execute("create role ann login; create role bob login")
        first.execute("create database shop owner ann")
        first.execute("revoke connect on database shop from public")
        check("permission denied for database" in cannot_connect(s, "shop", user="bob"))
        s.connect(dbname="shop", user="ann").close()
        first.execute("grant connect on database shop to bob")
        s.connect(dbname="shop", user="bob").close()


@test
def a_killed_server_has_the_databases_that_were_acknowledged():
    random = rng("databases")
    with server() as s:
        known = {}
        for _ in range(12):
            stopping = threading.Timer(random.uniform(0.05, 0.6), s.kill)
            stopping.start()
            doubtful = None
            try:
                with s.connect() as first:
                    while True:
                        name = f"d{random.randrange(6)}"
                        doubtful = name
                        if name in known and random.random() < 0.4:
                            first.execute(f"drop database {name}")
                            del known[name]
                        elif name not in known:
                            first.execute(f"create database {name}")
                            known[name] = 0
                        else:
                            with s.connect(dbname=name) as own:
                                own.execute("create table if not exists t (id serial primary key)")
                                own.execute("insert into t default values")
                                known[name] += 1
                        doubtful = None
            except psycopg.Error:
                pass
            stopping.join()
            s.start()
            with s.connect() as first:
                there = {name for (name,) in first.execute("select datname from pg_database where datname like 'd%'")}
                equal(there - {doubtful}, set(known) - {doubtful})
            for name in sorted(there):
                with s.connect(dbname=name) as own:
                    is_there = own.execute("select to_regclass('t') is not null").fetchone()[0]
                    rows = own.execute("select count(*) from t").fetchone()[0] if is_there else 0
                    if name == doubtful:
                        known[name] = rows
                    check(rows == known[name], name, rows, known[name])
            if doubtful not in there:
                known.pop(doubtful, None)


@test
def a_dump_of_one_is_restored_into_another():
    with server() as s, s.connect() as first:
        first.execute("create database shop")
        with s.connect(dbname="shop") as shop:
            shop.execute("create table t (id serial primary key, v text)")
            shop.execute("insert into t (v) values ('a'), ('b')")
        url = f"postgres://quintet@127.0.0.1:{s.port}"
        text = run([BINARY, "dump", "--target", f"{url}/shop"])
        first.execute("create database copy")
        run(["psql", "-q", "-v", "ON_ERROR_STOP=1", f"{url}/copy"], text=text)
        with s.connect(dbname="copy") as copy:
            equal(copy.execute("select v from t order by id").fetchall(), [("a",), ("b",)])
            copy.execute("insert into t (v) values ('c')")
        with s.connect(dbname="shop") as shop:
            equal(shop.execute("select count(*) from t").fetchone(), (2,))


@test
def a_copy_is_made_of_what_nobody_is_connected_to():
    with server() as s, s.connect() as first:
        first.execute("create database shop")
        with s.connect(dbname="shop") as shop:
            shop.execute("create table t (id serial primary key, v text)")
            shop.execute("insert into t (v) select repeat('x', 100) from generate_series(1, 20000)")
            equal(refused(lambda: first.execute("create database copy template shop")), "55006")
        first.execute("create database copy template shop")
        s.kill()
        s.start()
        with s.connect(dbname="copy") as copy, s.connect(dbname="shop") as shop:
            equal(copy.execute("select count(*), sum(length(v)) from t").fetchone(), (20000, 2000000))
            check(copy.execute("insert into t (v) values ('y') returning id").fetchone()[0] > 20000)
            equal(shop.execute("select count(*) from t").fetchone(), (20000,))
