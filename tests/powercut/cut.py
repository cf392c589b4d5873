"""The power is cut under a server: what it acknowledged is there, nothing is there in part.

A cut falls on the n-th change to the disk from some moment on, so that it hits all kinds of changes and not
only those that take long. Then every call fails, the process is killed, the disk is mounted again with
what it kept, and the server starts on that: sometimes into the next cut.

    load ──► cut ──► kill ──► restart ──► (cut ──► kill ──► restart) ──► audit ──► load ...
"""

import time

from harness import Options, Server, check, equal, rng, test

from crash import bank
from crash.load import Load

from .disk import choose_survival, disk, on_a_disk
from .model import MEMORY

# Exit code of a server that cannot use its directory.
CANNOT_OPEN = 4
# What a client may be told when the power goes: the outcome is unknown, or the disk failed.
TOLD = {None, "40003", "58030"}
# Changes to the disk on which the power may go, and up to the how manieth of them.
PLACES = [
    ("*", 300),
    ("sync *", 50),
    ("* data/store/*", 60),
    ("sync data/store/*", 15),
    ("rename *", 6),
    ("remove *", 6),
    ("create *", 6),
]


def make_server(d, *flags):
    s = Server(d.path / "data", *flags)
    # Beside the disk: what it says must not be lost, nor fail.
    s.log = d.path.parent / "server.log"
    return s


def try_to_start(s):
    """False if the power went while it started."""
    try:
        s.start()
        return True
    except AssertionError:
        equal(s.process.wait(timeout=60), CANNOT_OPEN, s.tail())
        return False


def cut_soon(d, random, survival):
    """Returns what it fell on."""
    # Most changes are writes and syncs of the log; the others deserve as many cuts.
    pattern, changes_max = random.choice(PLACES)
    d.cut(survival, random.randint(1, changes_max), pattern)
    return d.wait_until_off(survival, 3)


def restart(s, d, random):
    """Starts on what the cut left, now and then with another cut on the way; returns (seconds, cuts)."""
    cuts = 0
    s.end()
    d.restart()
    while random.random() < 0.3:
        pattern, changes_max = random.choice(PLACES)
        d.cut(choose_survival(random), random.randint(1, changes_max), pattern)
        try_to_start(s)
        s.end()
        d.restart()
        cuts += 1
    return s.start(), cuts


@test
@on_a_disk
def power_cuts_lose_nothing_acknowledged():
    random = rng("cuts")
    with disk("cuts") as d:
        s = make_server(d, "--memory", "64MiB")
        try:
            s.start()
            load = Load(s, random, clients=3, padding=4_000)
            load.create()
            for number in range(Options.rounds or 10):
                load.start()
                time.sleep(random.uniform(0.1, 1.0))
                survival = choose_survival(random)
                fell_on = cut_soon(d, random, survival)
                time.sleep(random.uniform(0, 0.1))
                s.kill()
                load.join()
                check(load.refusals() <= TOLD, "clients were told", load.refusals())
                seconds, more = restart(s, d, random)
                acknowledged, present = load.audit()
                print(
                    f"  cut {number}, {survival} survives, on {fell_on}: {acknowledged} acknowledged, {present} present, "
                    f"{load.changes} schema changes, {more} cuts during the restart, which took {seconds:.2f} s",
                    flush=True,
                )
            check(acknowledged > number and load.changes > number, "hardly anything ran")
            equal(s.stop(), 0, "exit code")
        finally:
            s.end()


@test
@on_a_disk
def a_kill_before_a_name_is_durable_and_then_a_power_cut_lose_nothing():
    # A process was killed between giving a tree of STORE its new version and making that durable. The next one
    # took it for durable, cut the log behind it and removed the files of the version before; then the
    # power went, and with it the name.
    random = rng("kill then cut")
    with disk("kill then cut") as d:
        s = make_server(d, "--memory", "64MiB")
        try:
            s.start()
            load = Load(s, random)
            load.create()
            for number in range(Options.rounds or 6):
                load.start()
                # A tree syncs its folder twice for a version: its content is in place, its name is.
                d.cut(MEMORY, random.randint(1, 8), "sync data/store/spaces/?")
                fell_on = d.wait_until_off(MEMORY, 10)
                s.kill()
                load.join()
                d.restart()
                s.start()
                time.sleep(random.uniform(0, 0.05))
                survival = random.choice(["nothing", "little", "half", "most"])
                d.cut(survival)
                s.kill()
                d.restart()
                s.start()
                acknowledged, present = load.audit()
                print(f"  killed on {fell_on}, then cut, {survival} survives: {acknowledged} acknowledged, {present} present", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()


@test
@on_a_disk
def the_first_answers_of_a_new_database_survive():
    # The names of the directory and of those made above it were left to chance once, and with them everything.
    random = rng("first")
    with disk("first") as d:
        s = make_server(d)
        s.data = d.path / "made" / "on" / "the" / "way"
        try:
            s.start()
            bank.create(s)
            clients = lose(d, s, random, 0.3)
            s.start()
            acknowledged, present = bank.audit(s, clients)
            check(acknowledged > 0, "nothing ran")
            print(f"  {acknowledged} acknowledged, {present} present")
            equal(s.stop(), 0)
        finally:
            s.end()


@test
@on_a_disk
def power_cuts_while_a_database_is_made_leave_none_or_a_whole_one():
    random = rng("made")
    for number in range(Options.rounds or 5):
        with disk(f"made {number}") as d:
            s = make_server(d)
            try:
                cuts = 0
                d.cut(choose_survival(random), random.randint(1, 80))
                while not try_to_start(s) and cuts < 5:
                    cuts += 1
                    d.restart()
                    d.cut(choose_survival(random), random.randint(1, 400))
                s.end()
                d.restart()
                s.start()
                bank.create(s)
                equal(s.stop(), 0)
                d.cut("nothing")
                d.restart()
                s.start()
                bank.audit(s, [])
                print(f"  made in spite of {cuts} cuts")
                equal(s.stop(), 0)
            finally:
                s.end()


def lose(d, s, random, load_seconds=1.0):
    """Transfers until the power goes and nothing that was not synced survives; returns the clients."""
    clients = bank.start(s, 4, random)
    time.sleep(load_seconds)
    d.cut("nothing")
    s.kill()
    bank.join(clients)
    d.restart()
    return clients


def found_lost(s, clients):
    """Whether the audit, as strict as for `sync`, finds that acknowledged transfers are gone."""
    try:
        bank.audit(s, clients)
    except AssertionError as error:
        check("acknowledged transfers are lost" in str(error), error)
        return True
    return False


@test
@on_a_disk
def answers_before_the_sync_lose_whole_transactions_and_this_test_sees_it():
    for durability in ("async", "none"):
        random = rng(durability)
        with disk(durability) as d:
            s = make_server(d, "--durability", durability)
            try:
                s.start()
                bank.create(s)
                if durability == "none":
                    # Else the tables would be lost, too; a graceful stop makes them durable.
                    equal(s.stop(), 0)
                    s.start()
                else:
                    time.sleep(0.5)
                clients = lose(d, s, random)
                s.start()
                check(found_lost(s, clients), "nothing was lost under", durability)
                acknowledged, present = bank.audit(s, clients, may_lose=True)
                print(f"  {durability}: {acknowledged} acknowledged, {present} present")
                equal(s.stop(), 0)
            finally:
                s.end()


@test
@on_a_disk
def unsynced_logs_come_back_as_whole_transactions_whatever_survives():
    random = rng("unsynced")
    with disk("unsynced") as d:
        s = make_server(d, "--memory", "64MiB", "--durability", "none")
        try:
            s.start()
            load = Load(s, random, clients=3, padding=4_000)
            load.create()
            equal(s.stop(), 0)
            s.start()
            for number in range(Options.rounds or 3):
                load.start()
                time.sleep(random.uniform(0.5, 1.5))
                survival = choose_survival(random)
                cut_soon(d, random, survival)
                s.kill()
                load.join()
                s.end()
                d.restart()
                s.start()
                acknowledged, present = load.audit(may_lose=True)
                print(f"  cut {number}, {survival} survives: {acknowledged} acknowledged, {present} present", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()


@test
@on_a_disk
def a_disk_that_lies_about_syncs_is_found_out():
    random = rng("lies")
    with disk("lies") as d:
        s = make_server(d)
        try:
            s.start()
            bank.create(s)
            d.tell("lie", pattern="data/log/*")
            clients = lose(d, s, random)
            d.tell("lie", pattern="")
            s.start()
            check(found_lost(s, clients), "nothing was lost on a disk that lies")
            acknowledged, present = bank.audit(s, clients, may_lose=True)
            print(f"  {acknowledged} acknowledged, {present} present")
        finally:
            s.end()
