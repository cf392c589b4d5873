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


@test
def a_full_disk_refuses_commits_and_recovers_with_space():
    random = rng("full")
    with small_disk(256) as disk:
        ballast = disk / "ballast"
        with open(ballast, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, 60 << 20)
        s = Server(disk / "data", "--memory", "64MiB")
        try:
            s.start()
            bank.create(s)
            with s.connect() as connection:
                connection.execute("create table padding (id bigint primary key, filler text not null)")
            clients = fill_until_refused(s, random, 0)
            states = {client.refused for client in clients}
            equal(states, {"53100"}, "how clients were refused:")
            acknowledged, _ = bank.audit(s, clients)
            check(acknowledged > 100, "only", acknowledged, "before it was full")
            print(f"  full after {acknowledged} transfers; reading goes on")
            # A restart on the full disk must come up and lose nothing.
            s.kill()
            s.start()
            bank.audit(s, clients)
            # Space returns: it can be written again, without a restart.
            ballast.unlink()
            deadline = time.monotonic() + 30
            later = []
            while not any(client.acknowledged for client in later):
                check(time.monotonic() < deadline, "not writable again with 60 MB free")
                running = bank.start(s, 1, random, first=len(clients) + len(later))
                time.sleep(0.5)
                bank.join(running)
                later += running
            bank.audit(s, clients + later)
            equal(s.stop(), 0)
            s.start()
            bank.audit(s, clients + later)
        finally:
            s.end()
