"""A file system that fills up: commits are refused with 53100, nothing is lost, space brings it back.

Needs root (or a mount namespace of one's own) for a small tmpfs; run.py says so if it cannot have one.
"""

import contextlib
import os
import subprocess
import time

from harness import Server, check, directory, equal, rng, test

from . import bank

FILLER_BYTES = 20_000


@contextlib.contextmanager
def small_disk(megabytes):
    with directory() as path:
        mount = path / "disk"
        mount.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(mount)], capture_output=True, text=True
        )
        check(done.returncode == 0, "cannot mount a small tmpfs (run as root):", done.stderr)
        try:
            yield mount
        finally:
            for _ in range(50):
                if subprocess.run(["umount", str(mount)], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                raise AssertionError("the small disk stays busy")


def fill_until_refused(s, random, first, seconds=60):
    clients = bank.start(s, 3, random, first=first, padding=FILLER_BYTES)
    deadline = time.monotonic() + seconds
    while any(client.is_alive() for client in clients):
        check(time.monotonic() < deadline, "the disk did not fill up")
        time.sleep(0.1)
    return clients


@contextlib.contextmanager
def full_server(random):
    """A server on a full disk, the clients that filled it, and what to remove for space."""
    with small_disk(256) as disk:
        ballast = disk / "ballast"
        with open(ballast, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, 60 << 20)
        s = Server(disk / "data", "--memory", "64MiB")
        # Its own words must not be lost with the disk.
        s.log = disk.parent / "server.log"
        try:
            s.start()
            bank.create(s)
            with s.connect() as connection:
                connection.execute("create table padding (id bigint primary key, filler text not null)")
            clients = fill_until_refused(s, random, 0)
            equal({client.refused for client in clients}, {"53100"}, "how clients were refused:")
            yield s, clients, ballast
        finally:
            s.end()


def write_again(s, random, clients, seconds=30):
    """Until a transfer is acknowledged; adds the clients that tried."""
    deadline = time.monotonic() + seconds
    later = []
    while not any(client.acknowledged for client in later):
        check(time.monotonic() < deadline, "not writable again with 60 MB free")
        running = bank.start(s, 1, random, first=len(clients) + len(later))
        time.sleep(0.5)
        bank.join(running)
        later += running
    clients += later


@test
def a_full_disk_refuses_commits_until_there_is_space():
    random = rng("full")
    with full_server(random) as (s, clients, ballast):
        acknowledged, present = bank.audit(s, clients)
        check(acknowledged > 100, "only", acknowledged, "before it was full")
        print(f"  full after {acknowledged} transfers, {present} present; reading goes on")
        # Refused again, not hung, as long as it is full.
        clients += fill_until_refused(s, random, len(clients))
        ballast.unlink()
        write_again(s, random, clients)
        bank.audit(s, clients)
        equal(s.stop(), 0)
        s.start()
        bank.audit(s, clients)


@test
def a_crash_on_a_full_disk_loses_nothing():
    random = rng("full crash")
    with full_server(random) as (s, clients, ballast):
        s.kill()
        # Recovery may need space of its own. Then it must say so, and succeed once there is some.
        try:
            print(f"  restarted on the full disk in {s.start():.2f} s")
            bank.audit(s, clients)
            ballast.unlink()
        except AssertionError as error:
            equal(s.process.poll(), 4, error)
            check("disk is full" in s.tail(), s.tail())
            print("  needs space to recover, and says so")
            ballast.unlink()
            s.start()
        acknowledged, present = bank.audit(s, clients)
        print(f"  {acknowledged} acknowledged, {present} present")
        write_again(s, random, clients)
        bank.audit(s, clients)
        equal(s.stop(), 0)
