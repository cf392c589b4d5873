"""Sessions that are asked without waiting for their answers, and a look at who of them waits for whom.

Relies on: `slt.wire`; a server that has `pg_isolation_test_session_is_blocked`, as both have.
Promises: `Stage.settle` returns when each session has answered or is seen to wait for a lock, or says that neither is so.
Does not: know scripts (plays.py does), or compare.
"""

import select
import socket
import struct
import time

from slt.wire import Wire

# So long nobody is asked again who neither answers nor is seen to wait.
PATIENCE = 5.0
# Time between two looks.
PAUSE = 0.008
# Looks in a row that have to see a wait. PostgreSQL looks for rings of waits only after `deadlock_timeout`.
SURE = {"quintet": 3, "postgres": 14}
DEADLOCK_TIMEOUT_MS = 40
SCHEMA = "play"


class Answer:
    """What one query string has been answered: lines as they are shown."""

    def __init__(self):
        self.lines, self.heard, self.state, self.gone = [], [], "", False
        self.tag, self.message = "", ""

    def shown(self, messages=True):
        """As lines. Messages may be left out, not SQLSTATEs."""
        # Whether it is told before or after an answer is a matter of moments.
        lines = self.heard + self.lines
        if self.state:
            lines.append(f"ERROR {self.state}" + (f" {self.message}" if messages else ""))
        if self.gone:
            lines.append("(gone)")
        return lines or ["(nothing)"]


class Seat(Wire):
    """One session."""

    def __init__(self, name, address, user, database, kind):
        super().__init__(address, user=user, database=database)
        self.name, self.kind = name, kind
        if self.socket.family == socket.AF_INET:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer, self.notices = None, []
        self.pid = int(self.query("select pg_backend_pid()")[1][0][0])
        self.socket.settimeout(20)
        # As if it had always been so: a session that has to wait for its search path has not begun.
        for text in [f"set search_path = {SCHEMA}", "set client_min_messages = error"]:
            self.query(text)
        if kind == "postgres":
            self.query(f"set deadlock_timeout = {DEADLOCK_TIMEOUT_MS}")

    def busy(self):
        return self.answer is not None

    def send(self, text):
        assert self.answer is None, f"{self.name} has not answered yet"
        body = text.encode() + b"\0"
        self.answer = Answer()
        try:
            self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        except OSError:
            pass

    def poll(self):
        """The whole answer if it has come, or None."""
        while self.answer is not None:
            found = self.message()
            if found is None:
                if not select.select([self.socket], [], [], 0)[0]:
                    return None
                try:
                    more = self.socket.recv(65536)
                except OSError:
                    more = b""
                if not more:
                    self.answer.gone = True
                    return self.taken()
                self.buffer += more
                continue
            kind, body = found
            self.take(kind, body)
            if kind == b"Z":
                return self.taken()
        return None

    def taken(self):
        answer, self.answer = self.answer, None
        return answer

    def message(self):
        if len(self.buffer) < 5:
            return None
        kind, length = struct.unpack("!ci", self.buffer[:5])
        if len(self.buffer) < length + 1:
            return None
        body, self.buffer = self.buffer[5 : length + 1], self.buffer[length + 1 :]
        return kind, body

    def take(self, kind, body):
        if kind == b"D":
            row, at = [], 2
            for _ in range(struct.unpack("!h", body[:2])[0]):
                size = struct.unpack("!i", body[at : at + 4])[0]
                at += 4
                row.append("NULL" if size < 0 else body[at : at + size].decode())
                at += max(size, 0)
            self.answer.lines.append(" | ".join(row))
        elif kind == b"C":
            self.answer.tag = body[:-1].decode()
            self.answer.lines.append(self.answer.tag)
        elif kind == b"E":
            fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
            self.answer.state, self.answer.message = fields[b"C"], fields[b"M"]
        elif kind == b"A":
            channel, payload, _ = body[4:].split(b"\0")
            self.answer.heard.append(f"heard {channel.decode()} {payload.decode()}".rstrip())


class Stage:
    """The sessions of one play, by name, on one server."""

    def __init__(self, address, user, kind, database, second=None):
        self.address, self.user, self.kind = address, user, kind
        self.databases = [database, second]
        self.seats = {}
        self.looker = Wire(address, user=user, database=database)
        self.looker.socket.settimeout(20)

    def open(self, name, level=None, second=False):
        seat = Seat(name, self.address, self.user, self.databases[second], self.kind)
        if level:
            seat.query(f"set default_transaction_isolation = '{level}'")
        self.seats[name] = seat
        return seat

    def close(self):
        for seat in self.seats.values():
            seat.close()
        self.looker.close()

    def blocked(self, seats):
        pids = ",".join(str(seat.pid) for seat in self.seats.values())
        asked = ",".join(f"pg_isolation_test_session_is_blocked({seat.pid}, '{{{pids}}}')" for seat in seats)
        row = self.looker.query(f"select {asked}")[1][0]
        return {seat.name for seat, shown in zip(seats, row) if shown == "t"}

    def settle(self, patience=PATIENCE):
        """Until nothing moves: the answers that have come, as (name, Answer), and how each that has not is found: by name."""
        came, seen, ends = [], {}, time.monotonic() + patience
        while True:
            moved = False
            for seat in list(self.seats.values()):
                answer = seat.poll()
                if answer:
                    came.append((seat.name, answer))
                    moved = True
            busy = [seat for seat in self.seats.values() if seat.busy()]
            if not busy:
                return came, {}
            if moved:
                seen, ends = {}, time.monotonic() + patience
                continue
            blocked = self.blocked(busy)
            for seat in busy:
                seen[seat.name] = seen.get(seat.name, 0) + 1 if seat.name in blocked else 0
            if all(seen[seat.name] >= SURE[self.kind] for seat in busy):
                return came, {seat.name: "waits" for seat in busy}
            if time.monotonic() > ends:
                return came, {seat.name: "waits" if seen[seat.name] else "waits, unseen" for seat in busy}
            time.sleep(PAUSE)
