"""A sync that fails: nothing is acknowledged that the disk does not hold, and clients are told so.

After the failure the disk has forgotten some of what was written, the kernel still shows it, and the next
sync succeeds. A server that asks again, or that reads the log after a restart and believes it, loses
what it acknowledges next; so a power cut follows each restart.
"""

import time

import psycopg
from harness import check, equal, rng, test

from crash import bank
from crash.load import Load

from .cut import make_server
from .disk import disk, on_a_disk
from .model import MEMORY

UNKNOWN = "40003"
IO_ERROR = "58030"


def run_until_refused(clients, seconds=20):
    deadline = time.monotonic() + seconds
    while any(client.is_alive() for client in clients):
        check(time.monotonic() < deadline, "clients were not refused")
        time.sleep(0.02)


def refused_state(s, statement):
    """SQLSTATE that a statement is refused with; None if the connection ends."""
    try:
        with s.connect() as connection:
            connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    raise AssertionError(f"not refused: {statement}")


@test
@on_a_disk
def a_log_that_cannot_be_synced_answers_unknown_and_loses_nothing():
    random = rng("log sync")
    with disk("log sync") as d:
        s = make_server(d)
        try:
            s.start()
            bank.create(s)
            everyone = []
            for number in range(4):
                clients = bank.start(s, 6, random, first=len(everyone))
                everyone += clients
                time.sleep(random.uniform(0.2, 0.6))
                d.fail_syncs("data/log/*.log", 1)
                run_until_refused(clients)
                states = {client.refused for client in clients}
                # Those that waited for the sync do not know; those that came later were refused.
                check(UNKNOWN in states and states <= {UNKNOWN, IO_ERROR}, "clients were told", states)
                equal(refused_state(s, "insert into ledger values (-1, 1, 1, 1)"), IO_ERROR, "a commit after the failure:")
                equal(len(d.status()["syncs_failed"]), 1)
                check("data/log" in s.tail(200), "the log file is not named:", s.tail())
                # Kernel and disk stay: what the failed sync has dropped can still be read.
                s.kill()
                s.start()
                before = bank.audit(s, everyone)
                clients = bank.start(s, 6, random, first=len(everyone))
                everyone += clients
                time.sleep(0.3)
                d.cut("nothing")
                s.kill()
                bank.join(clients)
                d.restart()
                s.start()
                after = bank.audit(s, everyone)
                print(f"  failure {number}: {before[0]} acknowledged, {before[1]} present; after a cut {after[0]}, {after[1]}", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()


def goes_on(load, seconds):
    """Whether commits are no longer refused within that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        load.start()
        time.sleep(0.5)
        load.join()
        if load.refusals() == {None}:
            return True
    return False


@test
@on_a_disk
def a_tree_that_is_not_sure_of_its_version_leaves_it_alone():
    # The name of a version was in place and its sync failed. The tree wrote its next one over the same file,
    # and a kill meanwhile left none.
    random = rng("version")
    with disk("version") as d:
        s = make_server(d, "--memory", "64MiB")
        try:
            s.start()
            load = Load(s, random)
            load.create()
            for _ in range(4):
                load.start()
                # Every second of these syncs is that of a name.
                d.fail_syncs("data/store/spaces/?", after=random.randint(0, 5))
                deadline = time.monotonic() + 10
                while not (failed := d.status()["syncs_failed"]) and time.monotonic() < deadline:
                    time.sleep(0.002)
                equal(len(failed), 1, "syncs that failed:")
                survival = random.choice(["everything", "half", MEMORY])
                d.cut(survival, random.randint(1, 2), f"write {failed[0]}/v*")
                fell_on = d.wait_until_off(survival, 1.5)
                s.kill()
                load.join()
                d.restart()
                s.start()
                acknowledged, present = load.audit()
                print(f"  {failed[0]} failed, cut on {fell_on}, {survival} survives: {acknowledged} acknowledged, {present} present", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()


@test
@on_a_disk
def a_version_that_a_restart_has_found_survives():
    # The name of a version was in place, its sync failed, and no later one made up for it. A server that was
    # started then took what it found for durable, and let the log go that had it.
    random = rng("found version")
    with disk("found version") as d:
        s = make_server(d, "--memory", "64MiB")
        try:
            s.start()
            load = Load(s, random)
            load.create()
            for _ in range(6):
                load.start()
                # Every second sync of a tree's folder is that of a name.
                d.fail_syncs("data/store/spaces/?", after=random.choice([1, 3, 5]), forgets_names=True)
                deadline = time.monotonic() + 10
                while not (failed := d.status()["syncs_failed"]) and time.monotonic() < deadline:
                    time.sleep(0.002)
                equal(len(failed), 1, "syncs that failed:")
                s.kill()
                load.join()
                s.start()
                load.audit()
                with s.connect() as connection:
                    connection.execute("checkpoint")
                d.cut("nothing")
                s.kill()
                d.restart()
                s.start()
                acknowledged, present = load.audit()
                print(f"  {failed[0]} failed: {acknowledged} acknowledged, {present} present", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()


@test
@on_a_disk
def syncs_of_the_store_and_of_names_that_fail_are_made_up_for():
    random = rng("store sync")
    with disk("store sync") as d:
        s = make_server(d, "--memory", "64MiB")
        try:
            s.start()
            load = Load(s, random)
            load.create()
            for pattern in ("data/store/*", "data/store/spaces/*/tables/*", "data/log", "data/store"):
                d.fail_syncs(pattern, 2)
                deadline = time.monotonic() + 30
                told = set()
                while len(d.status()["syncs_failed"]) < 2 and time.monotonic() < deadline:
                    load.start()
                    time.sleep(1)
                    load.join()
                    told |= load.refusals()
                failed = d.status()["syncs_failed"]
                equal(len(failed), 2, f"syncs of {pattern} that failed:")
                # While memory cannot be given back commits may be refused; none is in doubt, and no disk is full.
                check(told <= {None, IO_ERROR}, "clients were told", told)
                if pattern.startswith("data/store/"):
                    check("cannot be moved into the store" in s.tail(200), "nobody is told why:", s.tail())
                acknowledged, _ = load.audit()
                if not goes_on(load, 5):
                    # A tree whose newest version is in doubt takes no more until it is opened again.
                    s.kill()
                    s.start()
                    load.audit()
                    check(goes_on(load, 30), "still refused:", load.refusals())
                d.cut("nothing")
                s.kill()
                d.restart()
                s.start()
                later, present = load.audit()
                check(later > acknowledged, "nothing ran after the failures")
                print(f"  {' and '.join(failed)}, clients were told {told}: {later} acknowledged, {present} present", flush=True)
            equal(s.stop(), 0)
        finally:
            s.end()
