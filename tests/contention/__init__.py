"""Who does what, who waits for whom, and over which rows: the views of a server under load."""

import contextlib
import threading
import time

from harness import check

# How long something that must come may take on a loaded machine.
PATIENCE = 60


def until(what, look):
    """Looks until `look` gives something true, and gives that."""
    ends = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found:
            return found
        check(time.monotonic() < ends, "in vain:", what)
        time.sleep(0.02)


def rows(connection, sql, *params):
    return connection.execute(sql, params).fetchall()


def value(connection, sql, *params):
    (row,) = rows(connection, sql, *params)
    return row[0]


def pid(connection):
    return value(connection, "select pg_backend_pid()")


@contextlib.contextmanager
def doing(connection, sql, expected=None):
    """Runs a statement in another thread. `expected`: the SQLSTATE it is to end with."""
    ended = []

    def run():
        try:
            connection.execute(sql)
            ended.append(None)
        except Exception as error:
            ended.append(getattr(error, "sqlstate", None) or repr(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield thread
    thread.join(PATIENCE)
    check(ended == [expected], sql, "ended with", ended, "expected", expected)
