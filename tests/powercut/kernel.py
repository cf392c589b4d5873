"""Linux's side of a file system in user space: its messages, answered from the model.

Relies on: /dev/fuse and the right to mount (root); the message layout of version 7.31, which kernels since
5.4 speak.  Promises: one message is answered before the next is read, so a cut falls between two; once
the power is off everything is answered with EIO.  Does not: cache, so that whatever a program has
written (but for mapped memory that was not synced) is known to the model when the call returns.

The kernel keeps pages of its own for reading and is told to keep them, as a disk's would be: after a failed
sync a program can read what it wrote until it drops those pages, or the machine restarts.

    header of a message   length u32, operation u32, unique u64, node u64, user, group, process u32, u32
    header of an answer   length u32, -errno i32, unique u64
"""

import ctypes
import errno
import os
import stat
import struct

from . import model

ROOT = 1
WRITE_BYTES_MAX = 1 << 20
# A message is a write of that much, its headers, and room to spare.
MESSAGE_BYTES = WRITE_BYTES_MAX + 8192
# Names and attributes change through this mount alone, so the kernel may keep what it was told.
VALID_SECONDS = 3600

HEADER = struct.Struct("<IIQQIIII")
ANSWER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
ENTRY = struct.Struct("<QQQQII")
OPENED = struct.Struct("<QII")
READ = struct.Struct("<QQIIQII")
SET_ATTRIBUTES = struct.Struct("<IIQQQQQQIIIIIIII")

BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22
KEEP_CACHE = 1 << 1
SET_MODE, SET_SIZE = 1 << 0, 1 << 3
RENAME_NOREPLACE = 1
FALLOC_KEEP_SIZE = 1

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2

libc = ctypes.CDLL(None, use_errno=True)


def name_of(payload):
    return bytes(payload).split(b"\0", 1)[0].decode()


class Mount:
    """One mount of a disk. After a cut there is another one, so nothing the kernel knew is left."""

    def __init__(self, disk, faults, path):
        self.disk = disk
        self.faults = faults
        self.path = path
        # Number that the kernel knows -> [file or directory, how often the kernel was told, path].
        self.nodes = {ROOT: [disk.root, 1, ""]}
        self.numbers = {id(disk.root): ROOT}
        self.next_number = ROOT + 1
        self.listings = {}
        self.next_listing = 1
        self.buffer = bytearray(MESSAGE_BYTES)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions,max_read={WRITE_BYTES_MAX}"
        if libc.mount(b"powercut", path.encode(), b"fuse.powercut", MS_NOSUID | MS_NODEV, options.encode()):
            raise OSError(ctypes.get_errno(), "mount", path)

    def end(self):
        # First the connection, so that nothing waits for an answer.
        os.close(self.fd)
        libc.umount2(self.path.encode(), MNT_DETACH)

    # ---- one message

    def serve(self):
        try:
            length = os.readv(self.fd, [self.buffer])
        except OSError as error:
            # The asker is gone, or was interrupted.
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                return
            raise
        _, operation, unique, node, *_ = HEADER.unpack_from(self.buffer)
        handler = HANDLERS.get(operation)
        with memoryview(self.buffer) as whole, whole[HEADER.size : length] as payload:
            try:
                if handler is None:
                    raise OSError(errno.ENOSYS, "not there")
                if self.faults.is_off and handler not in UNPOWERED:
                    raise OSError(errno.EIO, "no power")
                answer, failed = handler(self, node, payload), 0
            except OSError as error:
                answer, failed = b"", error.errno
        if answer is not None:
            try:
                os.writev(self.fd, [ANSWER.pack(ANSWER.size + len(answer), -failed, unique), answer])
            except OSError as error:
                # The asker was killed while it waited.
                if error.errno != errno.ENOENT:
                    raise

    def changing(self, what, path):
        """Called before everything that changes the disk; here the power may go."""
        if self.faults.goes_off_at(what, path):
            raise OSError(errno.EIO, "no power")

    # ---- nodes

    def node(self, number):
        return self.nodes[number][0]

    def child(self, number, name):
        found = self.node(number).names.get(name)
        if found is None:
            raise OSError(errno.ENOENT, name)
        return found

    def path_of(self, number, name=None):
        path = self.nodes[number][2]
        if name is None:
            return path
        return f"{path}/{name}" if path else name

    def attributes(self, node, number):
        is_directory = isinstance(node, model.Directory)
        size = 0 if is_directory else node.size
        mode = node.mode | (stat.S_IFDIR if is_directory else stat.S_IFREG)
        return ATTRIBUTES.pack(
            number, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 2 if is_directory else 1, 0, 0, 0, model.PAGE, 0
        )

    def entry(self, parent, name):
        node = self.child(parent, name)
        number = self.numbers.get(id(node))
        if number is None:
            number = self.numbers[id(node)] = self.next_number
            self.next_number += 1
            self.nodes[number] = [node, 0, self.path_of(parent, name)]
        self.nodes[number][1] += 1
        return ENTRY.pack(number, 0, VALID_SECONDS, VALID_SECONDS, 0, 0) + self.attributes(node, number)

    def forget_one(self, number, count):
        known = self.nodes.get(number)
        if known is None or number == ROOT:
            return
        known[1] -= count
        if known[1] <= 0:
            del self.nodes[number], self.numbers[id(known[0])]

    # ---- messages, in the order of a life

    def init(self, _node, payload):
        major, minor, readahead, flags = struct.unpack_from("<IIII", payload)
        wanted = flags & (BIG_WRITES | MAX_PAGES)
        pages = WRITE_BYTES_MAX // model.PAGE
        head = struct.pack("<IIIIHHIIHH", 7, 31, readahead, wanted, 16, 12, WRITE_BYTES_MAX, 1, pages, 0)
        return head + bytes(64 - len(head))

    def lookup(self, node, payload):
        return self.entry(node, name_of(payload))

    def forget(self, node, payload):
        self.forget_one(node, struct.unpack_from("<Q", payload)[0])

    def batch_forget(self, _node, payload):
        count = struct.unpack_from("<I", payload)[0]
        for index in range(count):
            self.forget_one(*struct.unpack_from("<QQ", payload, 8 + 16 * index))

    def get_attributes(self, node, _payload):
        return struct.pack("<QII", VALID_SECONDS, 0, 0) + self.attributes(self.node(node), node)

    def set_attributes(self, node, payload):
        valid, _, _, size, _, _, _, _, _, _, _, mode, *_ = SET_ATTRIBUTES.unpack_from(payload)
        known = self.node(node)
        if valid & SET_SIZE:
            self.changing("truncate", self.path_of(node))
            known.truncate(size)
        if valid & SET_MODE:
            known.mode = stat.S_IMODE(mode)
        return self.get_attributes(node, payload)

    def add(self, parent, name, new):
        if name in self.node(parent).names:
            raise OSError(errno.EEXIST, name)
        self.changing("create", self.path_of(parent, name))
        self.disk.change_names((self.node(parent), name, new))
        return self.entry(parent, name)

    def mknod(self, node, payload):
        mode = struct.unpack_from("<I", payload)[0]
        if not stat.S_ISREG(mode):
            raise OSError(errno.EPERM, "files only")
        return self.add(node, name_of(payload[16:]), model.File(stat.S_IMODE(mode)))

    def mkdir(self, node, payload):
        mode = struct.unpack_from("<I", payload)[0]
        return self.add(node, name_of(payload[8:]), model.Directory(stat.S_IMODE(mode)))

    def create(self, node, payload):
        mode = struct.unpack_from("<II", payload)[1]
        return self.add(node, name_of(payload[16:]), model.File(stat.S_IMODE(mode))) + OPENED.pack(0, KEEP_CACHE, 0)

    def unlink(self, node, payload):
        name = name_of(payload)
        self.child(node, name)
        self.changing("remove", self.path_of(node, name))
        self.disk.change_names((self.node(node), name, None))
        return b""

    def rmdir(self, node, payload):
        name = name_of(payload)
        if self.child(node, name).names:
            raise OSError(errno.ENOTEMPTY, name)
        return self.unlink(node, payload)

    def rename(self, node, payload, flags=0, names_at=8):
        target = struct.unpack_from("<Q", payload)[0]
        old, new = (part.decode() for part in bytes(payload[names_at:]).split(b"\0")[:2])
        moved = self.child(node, old)
        over = self.node(target).names.get(new)
        if flags & ~RENAME_NOREPLACE:
            raise OSError(errno.EINVAL, "flags")
        if flags and over is not None:
            raise OSError(errno.EEXIST, new)
        if isinstance(over, model.Directory) and over.names:
            raise OSError(errno.ENOTEMPTY, new)
        if over is moved:
            return b""
        self.changing("rename", self.path_of(target, new))
        self.disk.change_names((self.node(node), old, None), (self.node(target), new, moved))
        number = self.numbers.get(id(moved))
        if number is not None:
            self.nodes[number][2] = self.path_of(target, new)
        return b""

    def rename2(self, node, payload):
        return self.rename(node, payload, struct.unpack_from("<QI", payload)[1], 16)

    def open(self, _node, _payload):
        return OPENED.pack(0, KEEP_CACHE, 0)

    def read(self, node, payload):
        _, offset, size, *_ = READ.unpack_from(payload)
        return self.node(node).read(offset, size)

    def write(self, node, payload):
        _, offset, size, _, _, flags, _ = READ.unpack_from(payload)
        self.changing("write", self.path_of(node))
        self.node(node).write(offset, payload[READ.size : READ.size + size])
        if flags & os.O_DSYNC:
            self.sync_one(node, self.node(node).sync)
        return struct.pack("<II", size, 0)

    def fallocate(self, node, payload):
        _, offset, length, mode, _ = struct.unpack_from("<QQQII", payload)
        if mode & ~FALLOC_KEEP_SIZE:
            raise OSError(errno.EOPNOTSUPP, "mode")
        file = self.node(node)
        if not mode and offset + length > file.size:
            self.changing("allocate", self.path_of(node))
            file.truncate(offset + length)
        return b""

    def sync_one(self, node, sync):
        path = self.path_of(node)
        self.changing("sync", path)
        if self.faults.sync_fails(path):
            if isinstance(self.node(node), model.File) or self.faults.fail_forgets_names:
                self.node(node).fail_sync(self.faults.rng)
            raise OSError(errno.EIO, "sync")
        if not self.faults.lies(path):
            sync()

    def fsync(self, node, _payload):
        self.sync_one(node, self.node(node).sync)
        return b""

    def fsync_directory(self, node, _payload):
        self.sync_one(node, lambda: self.disk.sync_directory(self.node(node)))
        return b""

    def open_directory(self, node, _payload):
        # Listed once: names that come and go meanwhile must not make the reader miss others.
        listing = self.next_listing
        self.next_listing += 1
        self.listings[listing] = [(".", stat.S_IFDIR), ("..", stat.S_IFDIR)] + [
            (name, stat.S_IFDIR if isinstance(child, model.Directory) else stat.S_IFREG)
            for name, child in self.node(node).names.items()
        ]
        return OPENED.pack(listing, 0, 0)

    def read_directory(self, _node, payload):
        listing, offset, size, *_ = READ.unpack_from(payload)
        out = b""
        for index, (name, kind) in enumerate(self.listings[listing][offset:], offset + 1):
            raw = name.encode()
            entry = struct.pack("<QQII", index, index, len(raw), kind >> 12) + raw
            entry += bytes(-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out

    def release_directory(self, _node, payload):
        self.listings.pop(struct.unpack_from("<Q", payload)[0], None)
        return b""

    def release(self, _node, _payload):
        return b""

    def statfs(self, _node, _payload):
        blocks = (64 << 30) // model.PAGE
        return struct.pack("<QQQQQIIII24x", blocks, blocks, blocks, 1 << 20, 1 << 20, model.PAGE, 255, model.PAGE, 0)

    def interrupt(self, _node, _payload):
        return None


HANDLERS = {
    1: Mount.lookup, 2: Mount.forget, 3: Mount.get_attributes, 4: Mount.set_attributes, 8: Mount.mknod,
    9: Mount.mkdir, 10: Mount.unlink, 11: Mount.rmdir, 12: Mount.rename, 14: Mount.open, 15: Mount.read,
    16: Mount.write, 17: Mount.statfs, 18: Mount.release, 20: Mount.fsync, 26: Mount.init,
    27: Mount.open_directory, 28: Mount.read_directory, 29: Mount.release_directory,
    30: Mount.fsync_directory, 35: Mount.create, 36: Mount.interrupt, 38: Mount.release,
    42: Mount.batch_forget, 43: Mount.fallocate, 45: Mount.rename2,
}  # fmt: skip
# Answered without power: the kernel's own book-keeping.
UNPOWERED = {Mount.init, Mount.forget, Mount.batch_forget, Mount.release, Mount.release_directory, Mount.interrupt}
