"""A client of PostgreSQL's protocol that is as small as the tests of answers need.

Promises: what the server sent for one query string: types, texts and SQLSTATE, nothing interpreted.
Does not: authenticate, or anything but simple queries.
"""

import socket
import struct


class Failed(Exception):
    """The server's error."""

    def __init__(self, state, message):
        super().__init__(f"{state}: {message}")
        self.state = state
        self.message = message


class Wire:
    def __init__(self, address, user="postgres", database="postgres"):
        """`address`: a path of a socket, or a host and a port."""
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket()
        self.socket.connect(address)
        self.buffer = b""
        body = struct.pack("!i", 196608)
        for key, value in [("user", user), ("database", database), ("TimeZone", "UTC")]:
            body += key.encode() + b"\0" + value.encode() + b"\0"
        body += b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.answers()

    def close(self):
        self.socket.close()

    def read(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server hung up")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def answers(self):
        """Everything up to ReadyForQuery: the last result's type numbers and rows."""
        types, rows, failure = [], [], None
        while True:
            kind, length = struct.unpack("!ci", self.read(5))
            body = self.read(length - 4)
            if kind == b"T":
                types, rows, at = [], [], 2
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    at = body.index(b"\0", at) + 1
                    types.append(struct.unpack("!ihihih", body[at : at + 18])[2])
                    at += 18
            elif kind == b"D":
                row, at = [], 2
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    size = struct.unpack("!i", body[at : at + 4])[0]
                    at += 4
                    row.append(None if size < 0 else body[at : at + size].decode())
                    at += max(size, 0)
                rows.append(row)
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
                failure = Failed(fields[b"C"], fields[b"M"])
            elif kind == b"Z":
                if failure:
                    raise failure
                return types, rows

    def query(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.answers()
