"""Large objects: functions called by their numbers, psql's commands, writers side by side, restarts, dumps and other databases."""

import hashlib
import pathlib
import random
import struct
import tempfile
import threading

import psycopg
from harness import BINARY, Options, check, equal, run, server, test
from slt.wire import Failed, Wire

READ, WRITE = 0x40000, 0x20000
# Numbers of PostgreSQL's pg_proc.
NUMBERS = {"lo_open": 952, "lo_close": 953, "loread": 954, "lowrite": 955, "lo_creat": 957, "lo_unlink": 964, "lo_lseek64": 3170, "lo_truncate64": 3172}


class Fast(Wire):
    """A client that calls functions by their numbers, in binary."""

    def call(self, number, *arguments):
        number = NUMBERS.get(number, number)
        body = struct.pack("!ihhh", number, 1, 1, len(arguments))
        for value in arguments:
            if isinstance(value, int):
                value = struct.pack("!i" if -(2**31) <= value < 2**31 else "!q", value)
            elif isinstance(value, tuple):
                value = struct.pack("!q", value[0])
            body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        body += struct.pack("!h", 1)
        self.socket.sendall(b"F" + struct.pack("!i", len(body) + 4) + body)
        result, failure, self.status = None, None, None
        while True:
            kind, length = struct.unpack("!ci", self.read(5))
            body = self.read(length - 4)
            if kind == b"V":
                size = struct.unpack("!i", body[:4])[0]
                check(size == len(body) - 4 or size == -1, "a length", body)
                result = None if size < 0 else body[4:]
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
                failure = Failed(fields[b"C"], fields[b"M"])
            elif kind == b"Z":
                self.status = body.decode()
                if failure:
                    raise failure
                return result
            else:
                check(kind in b"NS", "an answer", kind)

    def number(self, *call):
        return struct.unpack("!i", self.call(*call))[0]


def fast(one):
    return Fast(("127.0.0.1", one.port), user="quintet", database="quintet")


def state_of(call):
    try:
        call()
    except Failed as failed:
        return failed.state
    except psycopg.Error as error:
        return error.sqlstate
    return None


@test
def functions_are_called_by_their_numbers():
    with server() as one:
        wire = fast(one)
        # abs(integer), reverse(text), and one of the user's own.
        equal(wire.number(1397, -7), 7)
        equal(wire.call(3062, b"abc"), b"cba")
        equal(wire.call(3062, None), None)
        wire.query("create function twice(a int) returns int language sql as 'select a * 2'")
        own = int(wire.query("select 'twice'::regproc::oid")[1][0][0])
        equal(wire.number(own, 21), 42)
        equal(wire.status, "I")
        equal(state_of(lambda: wire.call(999_999_999)), "42883")
        equal(state_of(lambda: wire.call(1397)), "08P01")
        check(state_of(lambda: wire.call(1397, b"abc")) in ("08P01", "22P03"), "three bytes of four")
        equal(state_of(lambda: wire.call(2803)), "0A000")  # count(*)
        equal(wire.status, "I")
        wire.query("begin")
        equal(wire.number(1397, -8), 8)
        equal(wire.status, "T")
        equal(state_of(lambda: wire.number("loread", 0, 1)), "42704")
        equal(wire.status, "E")
        equal(state_of(lambda: wire.number(1397, -8)), "25P02")
        wire.query("rollback")
        # Changes last without BEGIN, too.
        object = wire.number("lo_creat", READ | WRITE)
        equal(wire.query(f"select lo_get({object})")[1], [["\\x"]])
        wire.query(f"select lo_unlink({object}); drop function twice(int)")


@test
def a_client_reads_and_writes_by_the_fast_path():
    rand = random.Random(Options.seed)
    with server() as one:
        wire = fast(one)
        wire.query("begin")
        object = wire.number("lo_creat", READ | WRITE)
        descriptor = wire.number("lo_open", object, READ | WRITE)
        memory = bytearray()
        for _ in range(300):
            place = rand.randrange(40_000)
            equal(wire.call("lo_lseek64", descriptor, (place,), 0), struct.pack("!q", place))
            what = rand.randrange(10)
            if what < 5:
                data = rand.randbytes(rand.randrange(1, 9000))
                equal(wire.number("lowrite", descriptor, data), len(data))
                memory.extend(bytes(max(0, place - len(memory))))
                memory[place : place + len(data)] = data
            elif what < 9:
                count = rand.randrange(9000)
                equal(wire.call("loread", descriptor, count), bytes(memory[place : place + count]))
            else:
                equal(wire.number("lo_truncate64", descriptor, (place,)), 0)
                del memory[place:]
                memory.extend(bytes(place - len(memory)))
        equal(wire.number("lo_close", descriptor), 0)
        wire.query("commit")
        text = wire.query(f"select md5(lo_get({object})), lo_unlink({object})")[1][0][0]
        equal(text, hashlib.md5(memory).hexdigest())


@test
def psql_imports_lists_and_exports():
    if Options.reference:
        return
    with server() as one, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        content = random.Random(1).randbytes(123_457)
        (folder / "in").write_bytes(content)
        script = f"\\lo_import {folder}/in 'a picture'\n\\lo_list\n\\lo_export :LASTOID {folder}/out\n"
        said = run(["psql", "-X", *one.arguments(), "-d", "quintet", "-v", "ON_ERROR_STOP=1"], text=script)
        check("a picture" in said and "quintet" in said, said)
        equal((folder / "out").read_bytes(), content)
        script = "select oid as number from pg_largeobject_metadata \\gset\n\\lo_unlink :number\n\\lo_list\n"
        said = run(["psql", "-X", *one.arguments(), "-d", "quintet", "-v", "ON_ERROR_STOP=1"], text=script)
        check("(0 rows)" in said, said)


@test
def writers_of_one_object_wait_for_each_other_and_lose_nothing():
    """Each writes its own bytes of every page, many times; all of them are there in the end."""
    if Options.reference:
        return  # "tuple concurrently updated"
    with server() as one:
        with one.connect() as connection:
            connection.execute("select lo_from_bytea(50001, decode(repeat('00', 10000), 'hex'))")
        failures = []

        def write(mine):
            with one.connect() as connection:
                for turn in range(1, 16):
                    try:
                        with connection.transaction():
                            for page in range(5):
                                place = page * 2048 + mine
                                connection.execute("select lo_put(50001, %s, %s)", (place, bytes([turn])))
                    except psycopg.Error as error:
                        failures.append(error)

        threads = [threading.Thread(target=write, args=(mine,)) for mine in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failures, failures)
        with one.connect() as connection:
            content = connection.execute("select lo_get(50001)").fetchone()[0]
        for page in range(5):
            equal(content[page * 2048 : page * 2048 + 7], bytes([15] * 6 + [0]))


@test
def a_descriptor_that_reads_goes_on_reading_what_it_was_opened_with():
    with server() as one, one.connect() as reader, one.connect() as writer:
        for number, level in enumerate(["read committed", "repeatable read"]):
            object = 50010 + number
            writer.execute(f"select lo_from_bytea({object}, decode(repeat('61', 5000), 'hex'))")
            reader.execute(f"begin isolation level {level}")
            equal(reader.execute(f"select lo_open({object}, {READ}), lo_open({object}, {READ | WRITE})").fetchone(), (0, 1))
            writer.execute(f"select lo_put({object}, 0, decode(repeat('62', 6000), 'hex'))")
            equal(reader.execute("select loread(0, 3), lo_lseek(0, 0, 2), lo_lseek(0, 1, 0)").fetchone(), (b"aaa", 5000, 1))
            equal(reader.execute("select loread(0, 9000)").fetchone(), (b"a" * 4999,))
            if level == "read committed":
                equal(reader.execute("select loread(1, 9000)").fetchone(), (b"b" * 6000,))
                equal(reader.execute(f"select loread(lo_open({object}, {READ}), 3)").fetchone(), (b"bbb",))
            reader.execute("commit")


@test
def who_writes_an_object_keeps_it_from_going():
    if Options.reference:
        return
    with server() as one, one.connect() as writer, one.connect() as other:
        writer.execute("select lo_create(50002)")
        other.execute("set lock_timeout = '200ms'")
        with writer.transaction():
            writer.execute("select lo_open(50002, %s)", (WRITE,))
            equal(state_of(lambda: other.execute("select lo_unlink(50002)")), "55P03")
            writer.execute("select lowrite(0, 'abc')")
        other.execute("select lo_unlink(50002)")
        equal(other.execute("select count(*) from pg_largeobject").fetchone(), (0,))


@test
def transactions_that_only_read_write_no_object():
    if Options.reference:
        return  # PostgreSQL 15 lets them
    with server() as one, one.connect() as connection:
        connection.execute("select lo_from_bytea(50003, 'abc')")
        connection.execute("set default_transaction_read_only = on")
        for call in ["lo_create(0)", "lo_creat(1)", "lo_put(50003, 0, 'x')", "lo_unlink(50003)", "lo_open(50003, 131072)", "lo_from_bytea(0, '')"]:
            equal(state_of(lambda call=call: connection.execute("select " + call)), "25006")
        equal(connection.execute("select lo_get(50003)").fetchone(), (b"abc",))
        equal(state_of(lambda: connection.execute("comment on large object 50003 is 'x'")), "25006")


@test
def objects_outlive_a_killed_server_and_are_dumped_and_restored():
    if Options.reference:
        return
    with server() as one, tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "dump.sql"
        with one.connect() as connection:
            connection.execute("select lo_from_bytea(50004, decode(repeat('01020304', 5000), 'hex'))")
            connection.execute("select lo_create(50005), lo_put(50005, 100000, 'far')")
            connection.execute("select lo_create(50006), lo_truncate64(lo_open(50006, 131072), 8192)")
            connection.execute("comment on large object 50004 is 'it''s'")
            connection.execute("create role reader")
            connection.execute("grant select on large object 50005 to reader")
            uncommitted = one.connect()
            uncommitted.execute("begin")
            uncommitted.execute("select lo_put(50004, 0, 'lost'), lo_create(50007)")
            shown = everything(connection)
            one.kill()
        one.start()
        with one.connect() as connection:
            equal(everything(connection), shown)
            run([BINARY, "dump", "--target", f"postgres://quintet@127.0.0.1:{one.port}/quintet", "--out", dump])
            connection.execute("create database other")
        run(["psql", "-X", "-q", *one.arguments(), "-d", "other", "-v", "ON_ERROR_STOP=1", "-f", dump])
        with one.connect(dbname="other") as connection:
            equal(everything(connection)[:2], shown[:2])
            # Objects are each database's own.
            connection.execute("select lo_unlink(50004)")
            check(connection.execute("select lo_creat(0)").fetchone()[0] >= 16384, "a number")
        with one.connect() as connection:
            equal(everything(connection), shown)
            connection.execute("create database copy template other")
            connection.execute("drop database other")
        with one.connect(dbname="copy") as connection:
            equal(connection.execute("select count(*) from pg_largeobject_metadata").fetchone(), (3,))
            equal(connection.execute("select lo_get(50005, 100000, 10)").fetchone(), (b"far",))
            first = connection.execute("select lo_creat(0)").fetchone()[0]
            check(first not in (50005, 50006), first)
        with one.connect() as connection:
            connection.execute("drop database copy")
            equal(everything(connection), shown)


def everything(connection):
    pages = connection.execute("select loid, pageno, data from pg_largeobject order by 1, 2").fetchall()
    pages = [page for page in pages if page[2] or page[1]]
    words = connection.execute("select oid, obj_description(oid, 'pg_largeobject') from pg_largeobject_metadata order by 1").fetchall()
    lists = connection.execute("select oid, lomacl::text from pg_largeobject_metadata order by 1").fetchall()
    return pages, words, lists
