"""A client of PostgreSQL's protocol that sends any message in any order.

Promises: `send` puts messages together, `answers` gives what came back up to a ReadyForQuery, or until everything that was asked is
answered (for Flush), one line each, so that two servers' answers can be compared. Does not: authenticate, or know what a value means.

What each server numbers by itself is written as a word: numbers of objects that users made (16384 and above) are `oid`.
"""

import re
import socket
import struct

# Numbers from here on are given to objects that users make.
FIRST_OF_USERS = 16384
# Types whose values are numbers of objects.
OIDS = {26, 2205, 2206, 24, 2202, 4089, 4096}
# What an asked message is answered with at its end.
LAST_OF = {"P": b"1", "B": b"2", "D": b"Tn", "E": b"CsI", "C": b"3"}
SECONDS_MAX = 60


def text(string):
    return string.encode() + b"\0"


class Wire:
    def __init__(self, host, port, **startup):
        self.address = (host, port)
        self.startup = startup
        self.socket = socket.create_connection(self.address, timeout=SECONDS_MAX)
        self.buffer = b""
        self.output = b""
        # How many messages were sent whose last answer has not been seen.
        self.asked = 0
        self.types = []
        self.copy_data = []
        body = struct.pack("!i", 196608) + b"".join(text(key) + text(value) for key, value in startup.items()) + b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.key = None
        self.greeting = self.answers()

    def close(self):
        self.socket.close()

    def encrypted(self):
        """What the server says to a wish for encryption, before anything else."""
        with socket.create_connection(self.address, timeout=SECONDS_MAX) as other:
            other.sendall(struct.pack("!ii", 8, 80877103))
            return other.recv(1).decode()

    def cancel(self):
        """On a connection of its own, as the protocol has it."""
        with socket.create_connection(self.address, timeout=SECONDS_MAX) as other:
            other.sendall(struct.pack("!ii", 16, 80877102) + self.key)
            other.recv(1)

    # Messages of the client.

    def put(self, kind, body=b""):
        self.output += kind.encode() + struct.pack("!i", len(body) + 4) + body
        self.asked += kind in LAST_OF

    def query(self, sql):
        self.put("Q", text(sql))

    def parse(self, name, sql, oids):
        self.put("P", text(name) + text(sql) + struct.pack(f"!h{len(oids)}I", len(oids), *oids))

    def bind(self, portal, statement, parameters, results):
        """`parameters`: pairs of a format and bytes or None; `results`: formats."""
        formats = [format for format, _ in parameters]
        body = text(portal) + text(statement) + struct.pack(f"!h{len(formats)}h", len(formats), *formats)
        body += struct.pack("!h", len(parameters))
        for _, value in parameters:
            body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        self.put("B", body + struct.pack(f"!h{len(results)}h", len(results), *results))

    def describe(self, what, name):
        self.put("D", what.encode() + text(name))

    def execute(self, portal, rows_max):
        self.put("E", text(portal) + struct.pack("!i", rows_max))

    def shut(self, what, name):
        self.put("C", what.encode() + text(name))

    def flush(self):
        self.put("H")
        return self.answers(flushed=True)

    def sync(self):
        self.put("S")
        return self.answers()

    # Messages of the server.

    def read(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server hung up")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def answers(self, flushed=False):
        """A line for each message, up to ReadyForQuery; `flushed`: until all that was asked is answered."""
        self.socket.sendall(self.output)
        self.output = b""
        lines = []
        while not flushed or self.asked:
            kind, length = struct.unpack("!ci", self.read(5))
            lines += self.line(kind, self.read(length - 4))
            self.asked -= any(kind in ends for ends in LAST_OF.values()) and self.asked > 0
            if kind in b"ZE" and (kind == b"Z" or flushed):
                self.asked = 0
                break
        return lines

    def line(self, kind, body):
        if kind == b"T":
            return [self.columns(body)]
        if kind == b"D":
            return ["  " + " | ".join(self.row(body))]
        if kind in b"EN":
            fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
            return [f"{fields[b'V']} {fields[b'C']}"]
        if kind == b"C":
            return [body[:-1].decode()]
        if kind == b"Z":
            return [f"ready {body.decode()}"]
        if kind == b"S":
            return ["is " + " = ".join(part.decode() for part in body.split(b"\0")[:2])]
        if kind == b"K":
            self.key = body
            return ["key"]
        if kind == b"t":
            count = struct.unpack("!h", body[:2])[0]
            return ["parameters " + " ".join(number(oid) for oid in struct.unpack(f"!{count}I", body[2:]))]
        if kind == b"A":
            return ["notification " + " ".join(part.decode() for part in body[4:].split(b"\0")[:2])]
        if kind in b"GH":
            count = struct.unpack("!h", body[1:3])[0]
            if kind == b"G":
                for data in self.copy_data:
                    self.put(*data)
                self.socket.sendall(self.output)
                self.output = b""
            self.copied, self.binary = b"", body[0]
            return [f"copy {'in' if kind == b'G' else 'out'} {body[0]} of {count}"]
        if kind == b"d":
            self.copied += body
            return []
        if kind == b"c":
            return [*(f"  {line}" for line in self.copy_out()), "end of data"]
        words = {b"1": "parsed", b"2": "bound", b"3": "closed", b"I": "empty", b"n": "no data", b"s": "suspended"}
        return [] if kind == b"R" else [words[kind]]

    def copy_out(self):
        """What was copied is one stream; where a message ends means nothing."""
        return [self.copied.hex()] if self.binary else self.copied.decode().splitlines()

    def columns(self, body):
        self.types, said, at = [], [], 2
        for _ in range(struct.unpack("!h", body[:2])[0]):
            end = body.index(b"\0", at)
            _, _, oid, _, modifier, format = struct.unpack("!IhIhih", body[end + 1 : end + 19])
            self.types.append((oid, format))
            said.append(f"{body[at:end].decode()} {number(oid)}" + f" ({modifier})" * (modifier != -1) + " binary" * format)
            at = end + 19
        return "columns " + ", ".join(said)

    def row(self, body):
        at = 2
        for place in range(struct.unpack("!h", body[:2])[0]):
            size = struct.unpack("!i", body[at : at + 4])[0]
            value = body[at + 4 : at + 4 + max(size, 0)]
            at += 4 + max(size, 0)
            # Who does not ask for a description gets none: then nothing is known of the columns.
            oid, format = self.types[place] if place < len(self.types) else (0, 0)
            if size < 0:
                yield "~"
            elif format or not printable(value):
                yield f"x{'oid' if oid in OIDS and int.from_bytes(value, 'big') >= FIRST_OF_USERS else value.hex()}"
            elif oid in OIDS or oid in (1028, 30):
                yield re.sub(r"\b\d{5,}\b", lambda found: number(int(found[0])), value.decode())
            else:
                yield re.sub(r"[\n\r\\|]", lambda found: f"\\x{ord(found[0]):02x}", value.decode()) or '""'


def printable(value):
    return b"\0" not in value and not any(byte < 9 for byte in value)


def number(oid):
    return "oid" if oid >= FIRST_OF_USERS else str(oid)
