"""Sample applications of frameworks: each says the same of Quintet and of PostgreSQL 15.

The applications are in `samples/`. They get the address of a server, print what they find, and print neither numbers of objects nor
times, so that two outputs can be compared line by line. `./test` fetches the packages they need.
"""

import difflib
import pathlib
import shutil
import sys

from harness import ROOT, Options, Reference, check, directory, run, server, test

SAMPLES = pathlib.Path(__file__).resolve().parent / "samples"
NODE_MODULES = ROOT / "target/test-node/node_modules"


def alike(command, env=None):
    """Runs a command against Quintet and against PostgreSQL: both end well, and say the same."""
    said = []
    for kind in [server, reference]:
        with kind() as one, directory() as scratch:
            more = {"PGHOST": "127.0.0.1", "PGPORT": str(one.port), "PGUSER": "quintet", "PGDATABASE": "quintet"}
            said.append(run(command, env={**(env or {}), **more}, cwd=scratch))
        if Options.reference:
            return
    lines = [text.splitlines() for text in said]
    difference = "\n".join(difflib.unified_diff(lines[1], lines[0], "PostgreSQL", "Quintet", lineterm="", n=1))
    check(lines[0], "the application says nothing")
    check(not difference, "\n" + difference)


def reference():
    """PostgreSQL 15, whatever the other tests run against."""
    import contextlib

    @contextlib.contextmanager
    def running():
        with directory() as path:
            started = Reference(path / "data")
            try:
                started.start()
                yield started
            finally:
                started.end()

    return running()


@test
def sqlalchemy_makes_reads_and_reflects_tables():
    alike([sys.executable, "-B", SAMPLES / "sqlalchemy_app.py"])


@test
def asyncpg_pools_listens_and_copies():
    alike([sys.executable, "-B", SAMPLES / "asyncpg_app.py"])


@test
def alembic_migrates_up_and_down():
    alike([sys.executable, "-B", SAMPLES / "alembic_app.py"])


@test
def django_migrates_and_its_models_work():
    alike([sys.executable, "-B", SAMPLES / "django_app.py"])


@test
def node_postgres_pools_prepares_and_reads_by_cursor():
    check(shutil.which("node"), "no node; install nodejs")
    check(NODE_MODULES.exists(), NODE_MODULES, "is missing; ./test fetches it with npm")
    alike(["node", SAMPLES / "node_app.js"], env={"NODE_PATH": str(NODE_MODULES)})
