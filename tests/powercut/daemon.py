"""The process that serves the forgetful disk; tests speak to it through `disk`.

Relies on: `kernel`, `model`.  Promises: one command or message at a time, so a command takes effect between
two messages; unmounts when its standard input ends, which is when the test that started it does.
Does not: choose when the power goes; it is told, or told after how many changes.

Commands and answers are lines of JSON, an answer for each command:

    mount {path}                        umount {}
    cut {survival, after, pattern}      at once, or on the so manieth change to the disk, counting those whose
                                        operation and path ("sync data/log") match
    fail_sync {pattern, count, after, forgets_names}
                                        so many syncs of matching paths fail with EIO, once so many have passed; names
                                        that a directory's sync did not write are written by none, if so asked
    lie {pattern}                       syncs of matching paths succeed and do nothing; "" ends it
    dump {path}                         writes what the disk holds into another directory, to be looked at
    status {}                           what happened
"""

import fnmatch
import json
import os
import random
import select
import sys

from . import kernel, model


class Faults:
    """What goes wrong, and what went wrong."""

    def __init__(self, disk, seed):
        self.disk = disk
        self.rng = random.Random(seed)
        self.is_off = False
        # What was to happen when the power went: operation and path.
        self.off_at = None
        self.survival = None
        self.changes_left, self.cut_pattern = None, "*"
        self.fail_pattern, self.fail_count, self.fail_after = "", 0, 0
        self.fail_forgets_names = False
        self.lie_pattern = ""
        self.counts = {}
        self.syncs_failed = []

    def plan_cut(self, survival, after, pattern):
        self.survival, self.changes_left, self.cut_pattern = survival, after, pattern
        if after <= 0 and not self.is_off:
            self.cut("command")

    def cut(self, at):
        self.disk.cut(self.rng, self.survival)
        self.is_off, self.off_at, self.changes_left = True, at, None

    def goes_off_at(self, what, path):
        self.counts[what] = self.counts.get(what, 0) + 1
        if self.changes_left is None or not fnmatch.fnmatchcase(f"{what} {path}", self.cut_pattern):
            return False
        self.changes_left -= 1
        if self.changes_left > 0:
            return False
        self.cut(f"{what} {path}")
        return True

    def sync_fails(self, path):
        if self.fail_count <= 0 or not fnmatch.fnmatchcase(path, self.fail_pattern):
            return False
        if self.fail_after > 0:
            self.fail_after -= 1
            return False
        self.fail_count -= 1
        self.syncs_failed.append(path)
        return True

    def lies(self, path):
        # The root has the empty path.
        return self.lie_pattern != "" and fnmatch.fnmatchcase(path, self.lie_pattern)


def dump(directory, path):
    os.makedirs(path, exist_ok=True)
    for name, node in directory.names.items():
        inside = os.path.join(path, name)
        if isinstance(node, model.Directory):
            dump(node, inside)
            continue
        with open(inside, "wb") as out:
            out.truncate(node.size)
            for number in {*node.durable, *node.unsynced}:
                at = number * model.PAGE
                # Pages of zeros are left out: most of a log is made ahead and empty.
                if at < node.size and (page := node.page(number)) != model.ZERO:
                    os.pwrite(out.fileno(), page[: node.size - at], at)


class Daemon:
    def __init__(self, seed):
        self.disk = model.Disk()
        self.faults = Faults(self.disk, seed)
        self.mount = None

    def command(self, line):
        request = json.loads(line)
        what = request["command"]
        faults = self.faults
        if what == "mount":
            faults.is_off, faults.off_at = False, None
            self.mount = kernel.Mount(self.disk, faults, request["path"])
        elif what == "umount":
            self.unmount()
        elif what == "cut":
            faults.plan_cut(request["survival"], request["after"], request["pattern"])
        elif what == "fail_sync":
            faults.fail_pattern, faults.fail_count, faults.fail_after = request["pattern"], request["count"], request["after"]
            faults.fail_forgets_names = request["forgets_names"]
            faults.syncs_failed = []
        elif what == "lie":
            faults.lie_pattern = request["pattern"]
        elif what == "dump":
            dump(self.disk.root, request["path"])
        elif what != "status":
            raise ValueError(what)
        return {"off": faults.is_off, "at": faults.off_at, "counts": faults.counts, "syncs_failed": faults.syncs_failed}

    def unmount(self):
        if self.mount:
            # A cut that did not come belongs to the past.
            self.faults.changes_left = None
            self.mount.end()
            self.mount = None

    def run(self):
        rest = b""
        while True:
            waited = [sys.stdin.fileno()] + ([self.mount.fd] if self.mount else [])
            ready, _, _ = select.select(waited, [], [])
            if self.mount and self.mount.fd in ready:
                self.mount.serve()
            if sys.stdin.fileno() in ready:
                got = os.read(sys.stdin.fileno(), 65536)
                if not got:
                    return
                *lines, rest = (rest + got).split(b"\n")
                for line in lines:
                    print(json.dumps(self.command(line)), flush=True)


def main():
    daemon = Daemon(sys.argv[1])
    try:
        daemon.run()
    finally:
        daemon.unmount()


if __name__ == "__main__":
    main()
