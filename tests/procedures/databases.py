"""An empty database for each script.

Relies on: the harness.  Promises: no script sees what another made or left, and one that does not end is
ended.  On Quintet each has a server of its own; PostgreSQL takes longer to start, so there each has
a database of one server.
"""

import contextlib
import threading

from harness import Options, server

# None needs a second; one that turns for ever is to be named, not waited for.
SECONDS_MAX = 60

# What an answer may depend on besides the script.
SETTINGS = "-c TimeZone=UTC -c DateStyle=ISO,MDY"


@contextlib.contextmanager
def databases():
    """Gives a function that opens a connection to an empty database, as a context."""
    if not Options.reference:
        yield quintet
        return
    with server() as s:
        yield lambda: postgres(s)


@contextlib.contextmanager
def quintet():
    with server() as s:
        watchdog = threading.Timer(SECONDS_MAX, s.kill)
        watchdog.start()
        try:
            with closing(s.connect(options=f"'{SETTINGS}'")) as connection:
                yield connection
        finally:
            watchdog.cancel()


@contextlib.contextmanager
def postgres(s):
    with s.connect(dbname="postgres") as above:
        above.execute("create database script template template0 encoding 'UTF8' locale 'C'")
        try:
            settings = f"'{SETTINGS} -c statement_timeout={SECONDS_MAX}s -c lc_messages=C'"
            with closing(s.connect(dbname="script", options=settings)) as connection:
                yield connection
        finally:
            above.execute("drop database script with (force)")


@contextlib.contextmanager
def closing(connection):
    """Closes without COMMIT: a script may leave a transaction open."""
    try:
        yield connection
    finally:
        connection.close()
