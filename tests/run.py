"""Runs the tests that drive the built binary; see README.md."""

import argparse
import importlib
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# A test file is `folder/name.py` and imports the harness as a module.
sys.path.insert(0, str(HERE))

# No byte code beside the sources.
sys.dont_write_bytecode = True

import harness  # noqa: E402

# In the order of a first look: does it start, does it talk, does it add up, does it survive.
FOLDERS = [
    "cli", "clients", "inventory", "procedures", "slt", "tpch", "pgbench", "drivers", "workloads", "roles", "crash", "powercut", "operations",
    "contention", "sessions", "programs", "front",
]
# A reference server has neither our command line nor our log.
REFERENCE_FOLDERS = ["clients", "inventory", "procedures", "pgbench", "drivers", "roles", "contention", "sessions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="folders, files or tests to run, e.g. crash or clients.psycopg3")
    parser.add_argument("--thorough", action="store_true", help="more rounds and larger data")
    parser.add_argument("--reference", action="store_true", help="run against PostgreSQL 15")
    parser.add_argument("--rounds", type=int, help="how often tests that count rounds kill or cut the power")
    parser.add_argument("--only", metavar="PART", help="of tests that run scripts: those whose names have this in them")
    parser.add_argument("--record", action="store_true", help="write down what PostgreSQL answers to the scripts")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    harness.Options.thorough = arguments.thorough
    harness.Options.reference = arguments.reference
    harness.Options.rounds = arguments.rounds
    harness.Options.only = arguments.only
    harness.Options.record = arguments.record
    harness.Options.seed = arguments.seed
    print(f"seed {arguments.seed}", flush=True)
    if arguments.record and not arguments.reference:
        sys.exit("--record is for --reference: only PostgreSQL's answers are written down")
    if not arguments.reference and not pathlib.Path(harness.BINARY).exists():
        sys.exit(f"{harness.BINARY} is not there; build it with: cargo build -p quintet-cli")
    folders = REFERENCE_FOLDERS if arguments.reference else FOLDERS
    for folder in folders:
        for file in sorted((HERE / folder).glob("*.py")):
            importlib.import_module(f"{folder}.{file.stem}")
    sys.exit(1 if harness.run_all(arguments.names) else 0)


main()
