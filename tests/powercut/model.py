"""A disk in memory that forgets what was not synced.

Relies on: nothing but its seed.  Promises: what was synced is there after the power was cut; a sector is
there whole or not at all; a rename is there whole or not at all.  Of everything else, chance keeps what
it likes, in any order: a file's pages and length, the names of a directory.  Does not: speak to a kernel
(`kernel` does), keep times or owners, or run out of space.

    write, truncate ──► unsynced pages ──fsync of the file──► durable
    create, mkdir, unlink, rename ──► unsynced names ──fsync of the directory──► durable

This is less than ext4 gives: there a sync of one file settles every name that was changed before it.

The power is cut:    each unsynced page and name is kept or lost; a kept page may be torn, each sector as
                     some write since the last sync left it; of the lengths since then any may be the one.
A sync fails:        as above, once, for one file; the rest is forgotten: it is clean in the kernel's cache,
                     where it can still be read, and no later sync writes it. That is what Linux does.
"""

PAGE = 4096
SECTOR = 512
ZERO = bytes(PAGE)
# States of a page between two syncs that a torn write may leave; older ones are forgotten.
VERSIONS_MAX = 8

# What chance is to keep of what was not synced: all alike, or each by itself with this probability.
SURVIVALS = {"nothing": 0.0, "little": 0.1, "half": 0.5, "most": 0.9, "everything": 1.0}
# Everything, but it stays unsynced: what a kill leaves, for the next cut to take.
MEMORY = "memory"


class File:
    def __init__(self, mode):
        self.mode = mode
        self.size = 0
        self.durable = {}
        self.durable_size = 0
        # Page number -> its states since the last sync, newest last.
        self.unsynced = {}
        # Lengths since the last sync, newest last.
        self.sizes = []

    def page(self, number):
        versions = self.unsynced.get(number)
        return versions[-1] if versions else self.durable.get(number, ZERO)

    def read(self, offset, length):
        end = min(offset + length, self.size)
        if end <= offset:
            return b""
        first, last = offset // PAGE, (end - 1) // PAGE
        whole = b"".join([self.page(number) for number in range(first, last + 1)])
        return whole[offset - first * PAGE : end - first * PAGE]

    def put(self, number, content):
        if content == ZERO:
            content = ZERO  # one object, however many pages of zeros
        versions = self.unsynced.setdefault(number, [])
        versions.append(content)
        if len(versions) > VERSIONS_MAX:
            del versions[0]

    def write(self, offset, data):
        at, end = offset, offset + len(data)
        while at < end:
            number, within = divmod(at, PAGE)
            take = min(PAGE - within, end - at)
            piece = bytes(data[at - offset : at - offset + take])
            if take < PAGE:
                old = self.page(number)
                piece = old[:within] + piece + old[within + take :]
            self.put(number, piece)
            at += take
        if end > self.size:
            self.resize(end)

    def resize(self, size):
        self.size = size
        self.sizes.append(size)
        if len(self.sizes) > VERSIONS_MAX:
            del self.sizes[0]

    def truncate(self, size):
        if size < self.size:
            number, within = divmod(size, PAGE)
            if within:
                self.put(number, self.page(number)[:within] + bytes(PAGE - within))
                number += 1
            for beyond in {n for n in (*self.durable, *self.unsynced) if n >= number}:
                self.put(beyond, ZERO)
        if size != self.size:
            self.resize(size)

    def sync(self):
        for number, versions in self.unsynced.items():
            self.durable[number] = versions[-1]
        self.unsynced.clear()
        if self.sizes:
            self.durable_size = self.size
            self.sizes.clear()

    def settle(self, rng, chance):
        """What chance keeps becomes durable, the rest is lost."""
        for number, versions in self.unsynced.items():
            if rng.random() >= chance:
                continue
            if chance < 1 and rng.random() < 0.5:
                states = [self.durable.get(number, ZERO), *versions]
                sectors = range(0, PAGE, SECTOR)
                self.durable[number] = b"".join([rng.choice(states)[at : at + SECTOR] for at in sectors])
            else:
                self.durable[number] = versions[-1]
        self.unsynced.clear()

    def fail_sync(self, rng):
        """The length stays what it is in memory, and a later sync may still write it."""
        self.settle(rng, rng.choice([0.0, 0.5]))

    def cut(self, rng, chance):
        self.settle(rng, chance)
        if self.sizes and rng.random() < chance:
            self.durable_size = self.sizes[-1] if chance == 1 else rng.choice(self.sizes)
        self.sizes.clear()
        self.size = self.durable_size
        # What lies behind the end is not the file's; it must not come back when the file grows.
        number, within = divmod(self.size, PAGE)
        if within and number in self.durable:
            self.durable[number] = self.durable[number][:within] + bytes(PAGE - within)
            number += 1
        elif within:
            number += 1
        for beyond in [n for n in self.durable if n >= number]:
            del self.durable[beyond]


class Directory:
    def __init__(self, mode):
        self.mode = mode
        self.names = {}
        # Name -> (number of the change that put it so, file or directory or None).
        self.durable = {}
        self.unsynced = []

    def fail_sync(self, _rng):
        """Asked for by tests only: file systems with a journal stop rather than forget a name."""
        self.unsynced.clear()


class Change:
    """What happens to names in one step: (directory, name, what it names now or None), and its number."""

    def __init__(self, number, steps):
        self.number = number
        self.steps = steps

    def settle(self):
        for directory, name, node in self.steps:
            # A later change of the same name may have been kept before this one.
            if directory.durable.get(name, (0, None))[0] < self.number:
                directory.durable[name] = (self.number, node)


class Disk:
    """Files, directories, and what is to go wrong with them."""

    def __init__(self):
        self.root = Directory(0o755)
        self.changes = 0

    def change_names(self, *steps):
        self.changes += 1
        change = Change(self.changes, steps)
        for directory, name, node in steps:
            if node is None:
                directory.names.pop(name, None)
            else:
                directory.names[name] = node
        for directory in {id(step[0]): step[0] for step in steps}.values():
            directory.unsynced.append(change)

    def sync_directory(self, directory):
        for change in directory.unsynced:
            change.settle()
        directory.unsynced.clear()

    def walk(self):
        """Every directory and file that has or had a name, each once, in an order that the seed can rely on."""
        seen, todo = set(), [self.root]
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            if isinstance(node, Directory):
                todo.extend(node.names.values())
                todo.extend(n for _, n in node.durable.values() if n is not None)
                todo.extend(n for change in node.unsynced for _, _, n in change.steps if n is not None)

    def cut(self, rng, survival):
        """The power goes; what is durable afterwards is all there is."""
        if survival == MEMORY:
            return
        chance = SURVIVALS[survival]
        nodes = list(self.walk())
        changes = {change.number: change for node in nodes if isinstance(node, Directory) for change in node.unsynced}
        for number in sorted(changes):
            if rng.random() < chance:
                changes[number].settle()
        for node in nodes:
            if isinstance(node, Directory):
                node.unsynced.clear()
                node.durable = {name: entry for name, entry in node.durable.items() if entry[1] is not None}
                node.names = {name: entry[1] for name, entry in node.durable.items()}
            else:
                node.cut(rng, chance)
