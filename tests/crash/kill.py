"""kill -9 at random moments: what was acknowledged is there, nothing is there in part."""

import time

from harness import Options, check, directory, equal, Server, rng, server, test

from . import bank
from .load import Load


def log_bytes(s):
    return sum(f.stat().st_size for f in (s.data / "log").iterdir())


def rounds(flags, count, may_lose=False, clients=6):
    """Kills and restarts one directory again and again."""
    random = rng("kill" + "".join(flags))
    with server(*flags) as s:
        bank.create(s)
        everyone = []
        for number in range(count):
            running = bank.start(s, clients, random, first=len(everyone))
            everyone += running
            time.sleep(random.uniform(0.05, 1.5))
            s.kill()
            bank.join(running)
            seconds = s.start()
            acknowledged, present = bank.audit(s, everyone, may_lose)
            print(
                f"  round {number}: {acknowledged} acknowledged, {present} present, "
                f"restart {seconds:.2f} s, log {log_bytes(s) / 1e6:.0f} MB"
            )
        check(sum(len(c.acknowledged) for c in everyone) > count, "hardly anything ran")
        equal(s.stop(), 0, "exit code")


@test
def kills_lose_nothing_acknowledged():
    rounds([], Options.rounds or 20)


@test
def kills_under_every_load_lose_nothing():
    # Little memory, and filler beside every transfer: the table is posted and merged all the time.
    random = rng("every load")
    with server("--memory", "64MiB") as s:
        load = Load(s, random)
        load.create()
        restarts, logs = [], []
        for number in range(Options.rounds or (10 if Options.thorough else 5)):
            load.start()
            time.sleep(random.uniform(0.5, 3))
            s.kill()
            load.join()
            equal(load.refusals() - {None}, set(), "refused before the kill:")
            restarts.append(s.start())
            logs.append(log_bytes(s) / 1e6)
            acknowledged, present = load.audit()
            print(
                f"  round {number}: {acknowledged} acknowledged, {present} present, {load.changes} schema changes, "
                f"restart {restarts[-1]:.2f} s, log {logs[-1]:.0f} MB, {load.store_tablets()} tablets",
                flush=True,
            )
        print(f"  restart {min(restarts):.2f} to {max(restarts):.2f} s, log {min(logs):.0f} to {max(logs):.0f} MB")
        check(acknowledged > len(restarts) and load.changes > len(restarts), "hardly anything ran")
        check(load.store_tablets() > 0, "nothing was compacted")
        equal(s.stop(), 0, "exit code")


@test
def a_process_that_dies_under_async_leaves_whole_transactions():
    rounds(["--durability", "async"], 5, may_lose=True)


@test
def a_process_that_dies_under_none_leaves_whole_transactions():
    rounds(["--durability", "none"], 5, may_lose=True)


@test
def a_graceful_stop_loses_nothing_under_any_durability():
    for durability in ("sync", "async", "none"):
        with directory() as path:
            s = Server(path / "data", "--durability", durability)
            try:
                s.start()
                bank.create(s)
                clients = bank.start(s, 4, rng("stop" + durability))
                time.sleep(1)
                # While they run: they are told to go, or finish what they are at.
                equal(s.stop(), 0, durability)
                bank.join(clients)
                s.start()
                acknowledged, present = bank.audit(s, clients)
                print(f"  {durability}: {acknowledged} acknowledged, {present} present")
            finally:
                s.end()
