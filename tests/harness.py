"""Starts servers, runs tests, counts.

Relies on: the built binary; psycopg 3.  Promises: every server it started is gone at the end,
every temporary directory too, unless a test failed: then the directory is kept and named.
Does not: choose tests (run.py does).
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("QUINTET_BINARY", str(ROOT / "target/debug/quintet"))
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")

# How long a server may take until it answers; recovery of a full log included.
START_SECONDS = 60


class Options:
    """What the command line said."""

    thorough = False
    reference = False
    only = None
    record = False
    seed = 0


TESTS = []


def test(function):
    """Registers a test; its name is its folder, file and function."""
    TESTS.append((f"{function.__module__}.{function.__name__}", function))
    return function


def check(condition, *what):
    """Fails the test unless the condition holds."""
    if not condition:
        raise AssertionError(" ".join(str(part) for part in what))


def equal(found, expected, what=""):
    check(found == expected, what, "found", repr(found), "expected", repr(expected))


def rng(name):
    """A generator of the run's seed, its own for each test."""
    return random.Random(f"{Options.seed}/{name}")


def free_port():
    with contextlib.closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A Quintet server on a directory of its own."""

    def __init__(self, data, *flags, env=None):
        self.data = pathlib.Path(data)
        self.flags = list(flags)
        self.env = env or {}
        self.port = free_port()
        self.process = None
        self.log = self.data.with_name(self.data.name + ".log")

    def command(self):
        return [BINARY, "serve", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}", *self.flags]

    def start(self):
        """Starts and waits until it answers; returns the seconds that took."""
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, env={**os.environ, **self.env}, start_new_session=True
            )
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.tail()}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return time.monotonic() - began
            if time.monotonic() - began > START_SECONDS:
                raise AssertionError(f"no answer after {START_SECONDS} s:\n{self.tail()}")
            time.sleep(0.01)

    def dsn(self, **more):
        fields = {"host": "127.0.0.1", "port": self.port, "user": "quintet", "dbname": "quintet", "connect_timeout": 10}
        return " ".join(f"{key}={value}" for key, value in {**fields, **more}.items())

    def connect(self, autocommit=True, **more):
        import psycopg

        return psycopg.connect(self.dsn(**more), autocommit=autocommit)

    def arguments(self):
        """For psql and pgbench."""
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "quintet"]

    def kill(self):
        """As a power failure would end the process."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=30):
        """Gracefully; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()

    def tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


class Reference(Server):
    """PostgreSQL 15 with the same face, to try the tests themselves."""

    def start(self):
        as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if not self.data.exists():
            self.data.mkdir(parents=True)
            if os.getuid() == 0:
                shutil.chown(self.data, "postgres", "postgres")
                for parent in [self.data.parent]:
                    parent.chmod(0o755)
            subprocess.run(
                [*as_postgres, POSTGRES / "initdb", "-D", self.data, "-U", "quintet", "-A", "trust"],
                check=True, stdout=subprocess.DEVNULL, cwd="/",
            )
        command = [
            *as_postgres, POSTGRES / "postgres", "-D", self.data, "-p", str(self.port), "-k", "",
            "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", *self.flags,
        ]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        began = time.monotonic()
        while subprocess.run([POSTGRES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            check(time.monotonic() - began < START_SECONDS, "no answer:", self.tail())
            time.sleep(0.05)
        with self.connect(dbname="postgres") as connection:
            if not connection.execute("select 1 from pg_database where datname = 'quintet'").fetchone():
                connection.execute("create database quintet")
        return time.monotonic() - began

    def stop(self, seconds=30):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=seconds)


@contextlib.contextmanager
def directory():
    """A temporary directory beside the binary, so on a real disk; kept if the test fails."""
    base = ROOT / "target/test-tmp"
    base.mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(tempfile.mkdtemp(dir=base))
    try:
        yield path
    except BaseException:
        print(f"  kept: {path.relative_to(ROOT)}")
        raise
    shutil.rmtree(path)


@contextlib.contextmanager
def server(*flags, **more):
    """A running server on a fresh directory."""
    with directory() as path:
        started = (Reference if Options.reference else Server)(path / "data", *flags, **more)
        try:
            started.start()
            yield started
        finally:
            started.end()


def run(command, expected=0, text=None, timeout=300, env=None, cwd=None):
    """Runs a command; returns its output, both streams together."""
    done = subprocess.run(
        [str(part) for part in command], input=text, text=True, timeout=timeout, cwd=cwd,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})},
    )
    if expected is not None:
        check(done.returncode == expected, command, "ended with", done.returncode, "\n" + done.stdout)
    return done.stdout


def run_all(names):
    """Runs the registered tests whose names begin with one of `names`; returns the number that failed."""
    chosen = [(name, function) for name, function in TESTS if not names or any(f"{name}.".startswith(f"{n}.") for n in names)]
    failed = []
    for name, function in chosen:
        began = time.monotonic()
        print(f"test {name} ...", flush=True)
        try:
            function()
            print(f"test {name} ok ({time.monotonic() - began:.1f} s)", flush=True)
        except KeyboardInterrupt:
            raise
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            print(f"test {name} FAILED ({time.monotonic() - began:.1f} s)", flush=True)
            failed.append(name)
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed", flush=True)
    return len(failed) if chosen else 1
