"""One connection that is asked one statement at a time.

Relies on: `slt.wire` for the connection.  Promises: everything that the server says of a statement: names and types of columns, texts, tags,
notices, COPY's text, the error. Types that users made have one number. Does not: authenticate, or wait for longer than a minute.
"""

import dataclasses
import struct

from slt.records import FIRST_OF_USERS
from slt.wire import Wire

SECONDS_MAX = 60
# What PostgreSQL's own runner sets, as far as both have it; and no statement may keep the others waiting.
SETTINGS = ["set timezone = 'PST8PDT'", "set lc_monetary = 'C'", "set statement_timeout = '20s'"]
CHUNK_BYTES = 60_000


@dataclasses.dataclass
class Answer:
    state: str = ""
    message: str = ""
    cols: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    tags: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    copy: str = ""


class Peer(Wire):
    """Whatever goes wrong with the connection is an `OSError`."""

    def __init__(self, address, user="postgres"):
        super().__init__(address, user, "quintet")
        self.socket.settimeout(SECONDS_MAX)
        self.begin()

    def begin(self):
        for setting in SETTINGS:
            self.ask(setting)

    def ask(self, sql, rows=b""):
        """`rows`: what COPY FROM STDIN is given."""
        self.copied = rows
        return self.query(sql)

    def answers(self):
        said = Answer()
        while True:
            kind, length = struct.unpack("!ci", self.read(5))
            body = self.read(length - 4)
            if kind == b"Z":
                return said
            if kind == b"T":
                said.cols.append(list(columns(body)))
            elif kind == b"D":
                said.rows.append(list(cells(body)))
            elif kind in b"EN":
                fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
                if kind == b"E":
                    said.state, said.message = fields[b"C"], fields[b"M"]
                    if fields[b"V"] == "FATAL":
                        raise ConnectionError(said.message)
                else:
                    said.notes.append(f"{fields[b'V']}: {fields[b'M']}")
            elif kind == b"C":
                said.tags.append(body[:-1].decode())
            elif kind == b"d":
                said.copy += body.decode(errors="replace")
            elif kind == b"G":
                for start in range(0, len(self.copied), CHUNK_BYTES):
                    chunk = self.copied[start : start + CHUNK_BYTES]
                    self.socket.sendall(b"d" + struct.pack("!i", len(chunk) + 4) + chunk)
                self.socket.sendall(b"c" + struct.pack("!i", 4))


def columns(body):
    at = 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        end = body.index(b"\0", at)
        yield body[at:end].decode(), min(struct.unpack("!IhI", body[end + 1 : end + 11])[2], FIRST_OF_USERS)
        at = end + 19


def cells(body):
    at = 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        size = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        yield None if size < 0 else body[at : at + size].decode(errors="replace")
        at += max(size, 0)
