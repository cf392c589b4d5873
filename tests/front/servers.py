"""PostgreSQL servers that are replicas, a front end before them, and a wire that can be cut.

Relies on: the harness; PostgreSQL 15.  Promises: replicas begin as copies of one directory.
Does not: hold tests.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import BINARY, Reference, Server, check, directory, free_port, run

REPLICA = [
    "-c", "wal_level=logical", "-c", "max_prepared_transactions=100", "-c", "max_replication_slots=8",
    "-c", "max_wal_senders=8", "-c", "shared_buffers=64MB", "-c", "autovacuum=off", "-c", "jit=off",
]

BANK = """
CREATE TABLE account (id int PRIMARY KEY, sum bigint NOT NULL);
CREATE TABLE entry (account int, number bigint, amount bigint NOT NULL, PRIMARY KEY (account, number));
INSERT INTO account SELECT i, 0 FROM generate_series(1, 20) i;
CREATE PROCEDURE pay(who int, amount bigint) LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    UPDATE account SET sum = sum + amount WHERE id = who;
    IF NOT FOUND THEN RAISE EXCEPTION 'no account %', who USING ERRCODE = 'P0002'; END IF;
    SELECT coalesce(max(number), 0) + 1 INTO n FROM entry WHERE account = who;
    INSERT INTO entry VALUES (who, n, amount);
END $$;
CREATE PROCEDURE transfer(one int, other int, amount bigint) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET sum = sum - amount WHERE id = one;
    UPDATE account SET sum = sum + amount WHERE id = other;
END $$;
CREATE PROCEDURE count_up(who int, INOUT total bigint) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET sum = sum + 1 WHERE id = who RETURNING sum INTO total;
END $$;
CREATE FUNCTION balance(who int) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum FROM account WHERE id = who $$;
"""


class Replica(Reference):
    """A PostgreSQL server that can be a replica."""

    def __init__(self, data, *flags):
        super().__init__(data, *REPLICA, *flags)

    def kill(self):
        """The whole server: the postmaster and all its children."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        time.sleep(0.2)

    def url(self, port=None):
        return f"postgres://quintet@127.0.0.1:{port or self.port}/quintet"

    def pause(self):
        """It is there and does not answer."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def go_on(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def processes(self):
        out = subprocess.run(["pgrep", "-g", str(self.process.pid)], capture_output=True, text=True).stdout
        # Children have sessions of their own.
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout
        return {int(pid) for pid in (out + children).split()} | {self.process.pid}


@contextlib.contextmanager
def replicas(count, schema=BANK, fill=None, flags=()):
    """So many servers with equal contents. `fill` gets the first before it is copied."""
    with directory() as path:
        first = Replica(path / "r0", *flags)
        everyone = [first]
        try:
            first.start()
            with first.connect() as connection:
                connection.execute(schema)
            if fill:
                fill(first)
            check(first.stop() == 0, "the first replica did not stop")
            for number in range(1, count):
                shutil.copytree(path / "r0", path / f"r{number}")
                if os.getuid() == 0:
                    subprocess.run(["chown", "-R", "postgres:postgres", path / f"r{number}"], check=True)
                everyone.append(Replica(path / f"r{number}", *flags))
            for replica in everyone:
                replica.start()
            yield everyone
        finally:
            for replica in everyone:
                if replica.process and replica.process.poll() is None:
                    replica.go_on()
                    replica.kill()


class Front(Server):
    """A front end. Its directory holds only its log."""

    def __init__(self, path, urls, *flags):
        super().__init__(path, *flags)
        self.urls = urls
        self.http = free_port()

    def command(self):
        named = [part for url in self.urls for part in ("--replica", url)]
        return [
            BINARY, "proxy", *named, "--listen", f"127.0.0.1:{self.port}", "--http", f"127.0.0.1:{self.http}",
            *map(str, self.flags),
        ]

    def metric(self, name):
        import urllib.request

        page = urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10).read().decode()
        lines = [line for line in page.splitlines() if line.startswith(f"quintet_{name} ")]
        check(len(lines) == 1, "no metric", name)
        return float(lines[0].split()[1])


@contextlib.contextmanager
def front(servers, *flags, urls=None):
    f = Front(servers[0].data.with_name("front"), urls or [s.url() for s in servers], *flags)
    try:
        f.start()
        yield f
    except BaseException:
        print(f.tail())
        raise
    finally:
        f.end()


def sums(servers):
    """What --compare says, or None if the replicas differ."""
    named = [part for s in servers for part in ("--replica", s.url())]
    done = subprocess.run([BINARY, "proxy", *named, "--compare"], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def wait_until_equal(servers, seconds=30):
    began = time.monotonic()
    while (found := sums(servers)) is None:
        if time.monotonic() - began > seconds:
            named = [part for s in servers for part in ("--replica", s.url())]
            run([BINARY, "proxy", *named, "--compare"])
        time.sleep(0.3)
    return found


class Wire:
    """A port that leads to another one, until it is cut: then nothing goes through, and nothing is said."""

    def __init__(self, to):
        self.to = to
        self.cut = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.closed = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.cut:
                # As a network that drops packets: the connection is there and nothing comes.
                threading.Thread(target=self.hold, args=(client,), daemon=True).start()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.to), timeout=5)
            except OSError:
                client.close()
                continue
            threading.Thread(target=self.carry, args=(client, server), daemon=True).start()

    def hold(self, client):
        while self.cut and not self.closed:
            time.sleep(0.05)
        client.close()

    def carry(self, client, server):
        other = {client: server, server: client}
        with client, server:
            while not self.closed:
                if self.cut:
                    self.hold(client)
                    return
                ready, _, _ = select.select([client, server], [], [], 0.05)
                if self.cut:
                    continue
                for s in ready:
                    try:
                        data = s.recv(65536)
                        if not data:
                            return
                        other[s].sendall(data)
                    except OSError:
                        return

    def close(self):
        self.closed = True
        self.listener.close()
