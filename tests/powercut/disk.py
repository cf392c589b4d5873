"""A mounted disk that loses what was not synced when its power is cut.

Relies on: Linux, /dev/fuse, root.  Promises: whatever happens to the test, the mount is gone afterwards.
Does not: end the programs that use the disk; without power each of their calls fails with EIO.

    power on (mounted) ──cut──► power off (every call fails) ──restart──► power on, what was durable is there
"""

import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import time

from harness import Options, check, directory

from . import model

DEVICE = "/dev/fuse"
TESTS = pathlib.Path(__file__).resolve().parent.parent


def why_not():
    """What keeps this machine from having such a disk; empty if nothing does."""
    if not os.path.exists(DEVICE):
        return f"no {DEVICE}"
    if os.geteuid() != 0:
        return "only root can mount"
    try:
        os.close(os.open(DEVICE, os.O_RDWR))
    except OSError as error:
        return f"{DEVICE}: {error.strerror}"
    return ""


def on_a_disk(function):
    """The test is skipped, and says so, where there is no such disk."""

    @functools.wraps(function)
    def run():
        reason = why_not()
        if reason:
            print(f"  skipped: {reason}")
            return
        function()

    return run


class Disk:
    def __init__(self, path, seed):
        self.path = path
        self.path.mkdir()
        self.log = open(path.with_name("disk.log"), "ab")
        self.daemon = subprocess.Popen(
            [sys.executable, "-B", "-m", "powercut.daemon", seed],
            cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        self.tell("mount", path=str(path))

    def tell(self, command, **what):
        self.daemon.stdin.write(json.dumps({"command": command, **what}) + "\n")
        self.daemon.stdin.flush()
        line = self.daemon.stdout.readline()
        check(line, "the disk has failed:", self.path.with_name("disk.log").read_text())
        return json.loads(line)

    def status(self):
        return self.tell("status")

    def cut(self, survival, after=0, pattern="*"):
        return self.tell("cut", survival=survival, after=after, pattern=pattern)

    def fail_syncs(self, pattern, count=1, after=0, forgets_names=False):
        self.tell("fail_sync", pattern=pattern, count=count, after=after, forgets_names=forgets_names)

    def wait_until_off(self, survival, seconds):
        """For a cut that was planned; cuts at once when the time is over. Returns what it fell on."""
        deadline = time.monotonic() + seconds
        while not (status := self.status())["off"]:
            if time.monotonic() > deadline:
                self.cut(survival)
            time.sleep(0.005)
        return status["at"]

    def restart(self):
        """Off and on again: nothing that a kernel had in memory is left."""
        self.tell("umount")
        self.tell("mount", path=str(self.path))

    def end(self):
        self.daemon.stdin.close()
        try:
            self.daemon.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        # Only there if the daemon was killed.
        if os.path.ismount(self.path):
            subprocess.run(["umount", "-l", str(self.path)], check=False)
        self.log.close()


@contextlib.contextmanager
def disk(name):
    """A disk in a temporary directory; whoever uses it must be gone before the block ends. If the test
    fails, what the disk holds is kept beside it."""
    with directory() as path:
        made = Disk(path / "disk", f"{Options.seed}/{name}")
        try:
            yield made
        except BaseException:
            made.tell("dump", path=str(path / "content"))
            raise
        finally:
            made.end()


def choose_survival(random):
    return random.choice([*model.SURVIVALS, model.MEMORY])

