"""Temporary tables: nothing of them outlives a session, whether it says goodbye, vanishes, or the server does."""

import os
import socket
import time

import psycopg
from harness import check, equal, server, test

def is_needed(connection):
    """Whether some session's temporary table has a column of the type."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("drop type mood")
    except psycopg.errors.DependentObjectsStillExist:
        return True
    return False


@test
def a_client_that_vanishes_leaves_no_table():
    with server() as s, s.connect() as watcher:
        watcher.execute("create type mood as enum ('sad', 'glad')")
        polite, rude = s.connect(), s.connect()
        for connection in (polite, rude):
            connection.execute("create temp table mine (id int primary key, v mood)")
            connection.execute("insert into mine values (1, 'sad')")
        polite.close()
        check(is_needed(watcher), "nothing is there")
        # No Terminate: the socket is gone.
        socket.socket(fileno=os.dup(rude.pgconn.socket)).shutdown(socket.SHUT_RDWR)
        ends = time.monotonic() + 10
        while is_needed(watcher):
            check(time.monotonic() < ends, "a table is left")
            time.sleep(0.02)


@test
def a_killed_server_drops_what_it_left_when_it_starts():
    with server() as s:
        with s.connect() as connection:
            connection.execute("create table lasting (id int)")
            connection.execute("create temp table mine as select 1 as v")
            s.kill()
        s.start()
        with s.connect() as connection:
            left = "select count(*) from pg_namespace where nspname like 'pg\\_temp\\_%'"
            equal(connection.execute(left).fetchone(), (0,))
            names = "select relname from pg_class where oid >= 16384"
            equal(connection.execute(names).fetchall(), [("lasting",)])
            connection.execute("create temp table mine (v int) on commit drop")
            try:
                connection.execute("select * from mine")
                check(False, "the table is still there")
            except psycopg.errors.UndefinedTable:
                pass
