"""One connection that is asked one statement at a time.

Promises: everything that the server says of it: names and types of columns, texts, tags, notices, COPY's text, the error. Types that users
made have one number. Does not: authenticate, or wait for longer than a minute.
"""

import dataclasses
import socket
import struct

SECONDS_MAX = 60
FIRST_OF_USERS = 16384
# What PostgreSQL's own runner sets, as far as both have it; and no statement may keep the others waiting.
SETTINGS = ["set timezone = 'PST8PDT'", "set lc_monetary = 'C'", "set statement_timeout = '20s'"]
CHUNK_BYTES = 60_000


class Gone(Exception):
    """The server hung up, refused, or does not answer."""


@dataclasses.dataclass
class Answer:
    state: str = ""
    message: str = ""
    cols: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    tags: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    copy: str = ""


def address(text):
    if text.startswith("/"):
        return text
    host, port = text.rsplit(":", 1)
    return (host, int(port))


class Peer:
    def __init__(self, where, user="postgres", database="quintet"):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.socket.settimeout(SECONDS_MAX)
        self.buffer = b""
        try:
            self.socket.connect(where)
        except OSError as error:
            raise Gone(str(error)) from error
        body = struct.pack("!i", 196608)
        for pair in [("user", user), ("database", database), ("client_encoding", "UTF8")]:
            body += b"".join(word.encode() + b"\0" for word in pair)
        self.send(struct.pack("!i", len(body) + 5) + body + b"\0")
        greeting = self.answer(b"")
        if greeting.state:
            raise Gone(greeting.message)
        self.begin()

    def begin(self):
        for setting in SETTINGS:
            self.ask(setting)

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone(str(error)) from error

    def read(self, count):
        while len(self.buffer) < count:
            try:
                more = self.socket.recv(65536)
            except OSError as error:
                raise Gone(str(error)) from error
            if not more:
                raise Gone("the server hung up")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def ask(self, sql, rows=b""):
        body = sql.encode() + b"\0"
        self.send(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.answer(rows)

    def answer(self, rows):
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
                else:
                    said.notes.append(f"{fields[b'V']}: {fields[b'M']}")
            elif kind == b"C":
                said.tags.append(body[:-1].decode())
            elif kind == b"d":
                said.copy += body.decode(errors="replace")
            elif kind == b"G":
                for start in range(0, len(rows), CHUNK_BYTES):
                    chunk = rows[start : start + CHUNK_BYTES]
                    self.send(b"d" + struct.pack("!i", len(chunk) + 4) + chunk)
                self.send(b"c" + struct.pack("!i", 4))


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
