"""The end of the log cut, overwritten or damaged: a torn tail goes, anything else is refused."""

import time

from harness import Server, check, directory, equal, rng, run, test, BINARY

from . import bank


def after_a_kill(path, random):
    s = Server(path / "data")
    s.start()
    bank.create(s)
    clients = bank.start(s, 4, random)
    time.sleep(1)
    s.kill()
    bank.join(clients)
    return s, clients


def segments(s):
    """Segment files in log order: their names are start positions in hexadecimal. Files kept for reuse
    have names of another kind and are left alone."""
    return sorted((f for f in (s.data / "log").iterdir() if looks_like_a_segment(f)), key=lambda f: f.name)


def looks_like_a_segment(file):
    try:
        int(file.stem.split("-")[-1], 16)
    except ValueError:
        return False
    return True


def end_of_data(file):
    """Offset just behind the last byte that is not zero: behind it is space made ahead."""
    data = file.read_bytes()
    return len(data.rstrip(b"\0"))


def last_with_data(s):
    files = [f for f in segments(s) if end_of_data(f) > 64]
    check(files, "no segment holds data")
    return files[-1]


@test
def a_torn_tail_is_cut_and_only_unsynced_work_can_go():
    random = rng("tail")
    for what in ("zeros", "noise", "cut"):
        with directory() as path:
            s, clients = after_a_kill(path, random)
            try:
                file = last_with_data(s)
                end = end_of_data(file)
                torn = random.randint(1, 24)
                with open(file, "r+b") as f:
                    if what == "cut":
                        # As if the last bytes had never been written: the file keeps its length.
                        length = f.seek(0, 2)
                        f.truncate(end - torn)
                        f.truncate(length)
                    else:
                        f.seek(end - torn)
                        f.write(bytes(torn) if what == "zeros" else random.randbytes(torn))
                s.start()
                # The last record had been synced and acknowledged, so this damage may cost it (no
                # log can tell it from a torn write), but no other and nothing in part.
                acknowledged = set().union(*(client.acknowledged for client in clients))
                bank.audit(s, clients, may_lose=True)
                with s.connect() as connection:
                    present = {row[0] for row in connection.execute("select id from ledger")}
                lost = acknowledged - present
                print(f"  {what}: {len(acknowledged)} acknowledged, {len(lost)} lost with {torn} bytes")
                check(len(lost) <= 4, f"{len(lost)} lost with one group of the log")
                equal(s.stop(), 0)
            finally:
                s.end()


@test
def damage_before_the_end_is_refused_with_its_place():
    random = rng("inside")
    with directory() as path:
        s, _ = after_a_kill(path, random)
        try:
            file = last_with_data(s)
            end = end_of_data(file)
            with open(file, "r+b") as f:
                place = end // 2
                f.seek(place)
                byte = f.read(1)[0]
                f.seek(place)
                f.write(bytes([byte ^ 0x55]))
            out = run(s.command(), expected=4, timeout=60)
            check("damage" in out.lower(), out)
            check(file.name in out or "position" in out or "lsn" in out.lower(), "the place is not named:", out)
            # It is refused every time, and looking is refused with the same words.
            run(s.command(), expected=4, timeout=60)
            out = run([BINARY, "inspect", "--data", s.data], expected=4)
            check("damage" in out.lower(), out)
            # Mended, it opens.
            with open(file, "r+b") as f:
                f.seek(place)
                f.write(bytes([byte]))
            s.start()
            equal(s.stop(), 0)
        finally:
            s.end()


@test
def a_segment_that_lost_its_end_is_refused_and_opens_when_mended():
    # Segments are made at full length and synced before use: no crash shortens one.
    with directory() as path:
        s, clients = after_a_kill(path, rng("shorter"))
        try:
            file = last_with_data(s)
            length = file.stat().st_size
            with open(file, "r+b") as f:
                f.truncate(end_of_data(file) + 1000)
            out = run(s.command(), expected=4, timeout=60)
            check("cut short" in out and file.name in out, out)
            with open(file, "r+b") as f:
                f.truncate(length)
            s.start()
            bank.audit(s, clients)
            equal(s.stop(), 0)
        finally:
            s.end()
