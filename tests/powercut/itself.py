"""The disk itself: it keeps what was synced, in every way of syncing, and loses the rest.

A test of a database on a disk that forgets nothing, or too much, would show nothing.
"""

import errno
import mmap
import os

from harness import check, equal, rng, test

from .disk import disk, on_a_disk
from .model import PAGE, SECTOR


def write(path, content, flags=os.O_CREAT, sync=None, at=0):
    fd = os.open(path, os.O_RDWR | flags, 0o644)
    try:
        os.pwrite(fd, content, at)
        if sync:
            sync(fd)
    finally:
        os.close(fd)


def sync_directory(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def cut(d, survival="nothing"):
    d.cut(survival)
    try:
        os.listdir(d.path)
        raise AssertionError("a disk without power answers")
    except OSError as error:
        equal(error.errno, errno.EIO)
    d.restart()


@test
@on_a_disk
def what_was_synced_survives_and_the_rest_does_not():
    with disk("survives") as d:
        write(d.path / "fsync", b"a" * 10_000, sync=os.fsync)
        write(d.path / "fdatasync", b"b" * 10_000, sync=os.fdatasync)
        write(d.path / "dsync", b"c" * 10_000, os.O_CREAT | os.O_DSYNC)
        write(d.path / "sync", b"d" * 10_000, os.O_CREAT | os.O_SYNC)
        write(d.path / "lost", b"e" * 10_000)
        sync_directory(d.path)
        write(d.path / "nameless", b"f", sync=os.fsync)
        write(d.path / "fsync", b"z", at=5000)
        equal((d.path / "fsync").read_bytes()[5000:5001], b"z", "before the cut:")
        cut(d)
        equal((d.path / "fsync").read_bytes(), b"a" * 10_000)
        equal((d.path / "fdatasync").read_bytes(), b"b" * 10_000)
        equal((d.path / "dsync").read_bytes(), b"c" * 10_000)
        equal((d.path / "sync").read_bytes(), b"d" * 10_000)
        equal((d.path / "lost").read_bytes(), b"", "its name was synced, not its content:")
        check(not (d.path / "nameless").exists(), "its content was synced, not its name")


@test
@on_a_disk
def mapped_memory_and_direct_writes_survive_when_synced():
    with disk("mapped") as d:
        write(d.path / "mapped", bytes(4 * PAGE), sync=os.fsync)
        write(d.path / "direct", bytes(4 * PAGE), sync=os.fsync)
        sync_directory(d.path)
        with open(d.path / "mapped", "r+b") as f, mmap.mmap(f.fileno(), 4 * PAGE) as mapped:
            mapped[0:4] = b"kept"
            mapped.flush()
            mapped[PAGE : PAGE + 4] = b"lost"
            fd = os.open(d.path / "direct", os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
            block = mmap.mmap(-1, PAGE)  # aligned, as a direct write wants it
            block[:4] = b"kept"
            equal(os.pwrite(fd, block, PAGE), PAGE)
            os.close(fd)
            cut(d)
        equal((d.path / "mapped").read_bytes()[: PAGE + 4], b"kept" + bytes(PAGE))
        equal((d.path / "direct").read_bytes()[PAGE : PAGE + 4], b"kept")


@test
@on_a_disk
def names_survive_with_their_directory_and_renames_are_whole():
    with disk("names") as d:
        (d.path / "deep").mkdir()
        write(d.path / "deep/old", b"old", sync=os.fsync)
        write(d.path / "deep/gone", b"gone", sync=os.fsync)
        sync_directory(d.path / "deep")
        sync_directory(d.path)
        write(d.path / "deep/new", b"new", sync=os.fsync)
        os.rename(d.path / "deep/new", d.path / "deep/old")
        os.unlink(d.path / "deep/gone")
        equal(sorted(os.listdir(d.path / "deep")), ["old"])
        cut(d)
        equal(sorted(os.listdir(d.path / "deep")), ["gone", "old"])
        equal((d.path / "deep/old").read_bytes(), b"old")
        # Again, with the sync; a cut that keeps some names keeps both halves of a rename or none.
        write(d.path / "deep/new", b"new", sync=os.fsync)
        os.rename(d.path / "deep/new", d.path / "deep/old")
        os.unlink(d.path / "deep/gone")
        sync_directory(d.path / "deep")
        cut(d)
        equal(os.listdir(d.path / "deep"), ["old"])
        equal((d.path / "deep/old").read_bytes(), b"new")
        for _ in range(20):
            before = os.listdir(d.path / "deep")
            os.rename(d.path / "deep" / before[0], d.path / "deep" / f"{before[0]}x")
            cut(d, "half")
            equal(len(os.listdir(d.path / "deep")), 1, "names after a rename that was not synced:")


@test
@on_a_disk
def what_was_not_synced_is_torn_at_sectors_and_comes_in_any_order():
    random = rng("torn")
    with disk("torn") as d:
        write(d.path / "file", b"0" * (64 * PAGE), sync=os.fsync)
        sync_directory(d.path)
        torn, reordered = 0, 0
        for _ in range(5):
            for digit in b"12":
                write(d.path / "file", bytes([digit]) * (64 * PAGE), flags=0)
            cut(d, "half")
            content = (d.path / "file").read_bytes()
            equal(len(content), 64 * PAGE)
            sectors = [set(content[at : at + SECTOR]) for at in range(0, len(content), SECTOR)]
            check(all(len(sector) == 1 for sector in sectors), "a sector is torn")
            pages = [set(content[at : at + PAGE]) for at in range(0, len(content), PAGE)]
            torn += sum(len(page) > 1 for page in pages)
            reordered += any(a == {ord("0")} and b == {ord("2")} for a, b in zip(pages, pages[1:]))
            at = random.randrange(64) * PAGE
            write(d.path / "file", b"3" * PAGE, flags=0, sync=os.fsync, at=at)
            write(d.path / "file", b"0" * (64 * PAGE), flags=0, sync=os.fsync)
        check(torn > 0 and reordered > 0, "torn", torn, "reordered", reordered)


@test
@on_a_disk
def a_file_that_was_cut_does_not_get_its_old_content_back():
    with disk("shorter") as d:
        write(d.path / "file", b"x" * 10_000, sync=os.fsync)
        sync_directory(d.path)
        os.truncate(d.path / "file", 100)
        os.truncate(d.path / "file", 10_000)
        equal((d.path / "file").read_bytes(), b"x" * 100 + bytes(9900))
        cut(d)
        equal((d.path / "file").read_bytes(), b"x" * 10_000, "neither was synced:")
        os.truncate(d.path / "file", 100)
        write(d.path / "file", b"", flags=0, sync=os.fsync)
        cut(d)
        os.truncate(d.path / "file", 10_000)
        equal((d.path / "file").read_bytes(), b"x" * 100 + bytes(9900))


@test
@on_a_disk
def a_sync_fails_once_and_its_pages_are_forgotten_though_they_can_still_be_read():
    with disk("fails") as d:
        write(d.path / "file", b"a" * PAGE, sync=os.fsync)
        sync_directory(d.path)
        d.fail_syncs("file", 1)
        fd = os.open(d.path / "file", os.O_RDWR)
        for _ in range(20):
            os.pwrite(fd, b"b" * PAGE, 0)
            try:
                os.fsync(fd)
                raise AssertionError("the sync did not fail")
            except OSError as error:
                equal(error.errno, errno.EIO)
            os.fsync(fd)  # says that all is well, as Linux does
            equal(os.pread(fd, 1, 0), b"b", "in the kernel's memory:")
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            on_disk = os.pread(fd, PAGE, 0)
            if on_disk != b"b" * PAGE:
                break
            os.pwrite(fd, b"a" * PAGE, 0)
            os.fsync(fd)
            d.fail_syncs("file", 1)
        else:
            raise AssertionError("twenty failed syncs kept everything")
        os.close(fd)


@test
@on_a_disk
def a_disk_that_lies_loses_what_was_synced():
    with disk("lies") as d:
        write(d.path / "file", b"a" * PAGE, sync=os.fsync)
        sync_directory(d.path)
        d.tell("lie", pattern="*")
        write(d.path / "file", b"b" * PAGE, flags=0, sync=os.fsync)
        cut(d)
        equal((d.path / "file").read_bytes(), b"a" * PAGE)
