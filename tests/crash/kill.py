"""kill -9 at random moments: what was acknowledged is there, nothing is there in part."""

import time

from harness import Options, check, directory, equal, Server, rng, server, test

from . import bank


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
def twenty_kills_lose_nothing_acknowledged():
    rounds([], 20)


@test
def kills_during_compaction_lose_nothing():
    # Little memory: memtables freeze and merge all the time.
    with server("--memory", "64MiB") as s:
        random = rng("compaction")
        bank.create(s)
        with s.connect() as connection:
            connection.execute("create table padding (id bigint primary key, filler text not null)")
        everyone = []
        for number in range(10 if Options.thorough else 5):
            running = bank.start(s, 4, random, first=len(everyone), padding=20_000)
            everyone += running
            time.sleep(random.uniform(1, 3))
            s.kill()
            bank.join(running)
            seconds = s.start()
            acknowledged, present = bank.audit(s, everyone)
            with s.connect() as connection:
                padded = connection.execute("select count(*), min(length(filler)) from padding").fetchone()
            equal(padded, (present, 20_000), "a transfer has its padding:")
            print(f"  round {number}: {acknowledged} acknowledged, {present} present, restart {seconds:.2f} s, log {log_bytes(s) / 1e6:.0f} MB")


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
