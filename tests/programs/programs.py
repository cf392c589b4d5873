"""Random programs of statements, told to Quintet and to PostgreSQL 15 side by side: answers and what is left are the same.

Between them the server is killed and started again, and dumped into both.  A program that finds a difference is kept as a file.
"""

import pathlib
import random
import time

from harness import BINARY, Options, Reference, check, directory, run, server, test

from . import blocks, kinds, schema
from .model import Model
from .sides import DEFINITIONS, SEARCH_PATH, Differs, Side, Sides, Slow

# Statements between two looks at everything.
STRETCH = 250


class Program(blocks.Blocks):
    """One seed's statements, and what they are told to."""

    def __init__(self, seed, here, postgres, kept, prefix):
        super().__init__(random.Random(f"program {seed}"))
        self.seed, self.server, self.postgres = seed, here, postgres
        self.database = f"{prefix}{seed}"
        self.kept = kept
        self.text = open(kept, "w")
        self.held = {}
        self.sides = None
        self.block = False
        self.prepared, self.holds, self.savepoints = [], [], []

    def told(self, line):
        self.text.write(line + ";\n")
        self.text.flush()

    def start(self):
        for address, user, first in self.places():
            new_database(address, user, first, self.database)
        self.sides = Sides(self.connect(), Side(self.postgres[0], self.postgres[1], self.database), self.told)
        self.told(SEARCH_PATH)
        for line in kinds.SET_UP + schema.LOGS:
            check(self.sides.both(line), line)
        for side in (self.sides.quintet, self.sides.postgres):
            # Another program may have made it.
            check(side.ask(f"create role {blocks.ROLE}")[0] in ("", "42710", "23505"), blocks.ROLE)
            check(side.ask(f"grant usage on schema public, aside to {blocks.ROLE}")[0] == "", blocks.ROLE)
        self.block = self.savepoint = False
        self.look()

    def connect(self, database=None):
        return Side(("127.0.0.1", self.server.port), "quintet", database or self.database)

    def look(self):
        """What is there, for the statements to come."""
        self.model = Model(self.sides.postgres.wire)

    def look_at_keys(self):
        self.held = {}
        for table in self.model.stored(roots=False) + self.model.of("t"):
            if table.key and all(column in table.columns for column in table.key):
                parts = ", ".join(f"quote_literal({column}) || '::{table.columns[column]}'" for column in table.key)
                rows = self.sides.postgres.wire.query(f"select {parts} from {table.name} limit 60")[1]
                self.held[table.name] = [dict(zip(table.key, row)) for row in rows if None not in row]

    def tell(self, text):
        self.sides.block = self.block
        done = self.sides.both(text)
        if done is None and self.block or done is False and self.block:
            # Both are in a block that has failed, or one is.
            if self.savepoint and self.chance(0.6):
                self.restore("rollback to savepoint s")
            else:
                self.restore("rollback")
                self.block = self.savepoint = False
            return None
        return done

    def restore(self, text):
        self.told(text)
        found, expected = self.sides.quintet.ask(text), self.sides.postgres.ask(text)
        check(found[0] == expected[0] == "", text, found, expected)
        self.look()

    def transaction(self):
        if not self.block:
            self.block, self.savepoint = bool(self.tell(f"begin{self.pick('', '', ' isolation level repeatable read', ' isolation level serializable')}")), False
            return
        roll = self.dice.random()
        if roll < 0.3:
            self.savepoint = bool(self.tell("savepoint s"))
        elif roll < 0.35 and self.savepoint:
            # The one of that name before it, if there is one, is not there for us.
            self.tell("release savepoint s")
            self.savepoint = False
        elif roll < 0.6 and self.savepoint:
            self.restore("rollback to savepoint s")
        elif roll < 0.85:
            # One that fails ends the block, too.
            self.sides.both("commit")
            self.block = self.savepoint = False
            self.look()
        elif roll < 0.9:
            self.tell(f"set constraints all {self.pick('deferred', 'immediate')}")
        else:
            self.restore("rollback")
            self.block = self.savepoint = False

    def step(self):
        roll = self.dice.random() if len(self.model.stored()) > 2 else 1
        if roll < 0.08 + 0.1 * self.block:
            self.transaction()
        elif roll < 0.42:
            if self.chance(0.2):
                self.look_at_keys()
            self.tell(self.change())
        elif roll < 0.5 and not self.block:
            self.again()
        elif roll < 0.8:
            self.tell(self.query())
        elif roll < 0.83:
            for text in self.session_step():
                self.tell(text)
            self.look()
        elif roll < 0.88:
            for text in self.extra_step():
                self.tell(text)
            # A block that has failed leaves the role as it was before.
            if self.sides.postgres.ask("select current_user = session_user")[2] == [["f"]]:
                self.restore("reset role")
            self.look()
        else:
            if self.model.cursors:
                self.tell("close all")
            self.lasting = True
            for text in [f"drop table {name}" for name, _ in self.model.seen()] + self.schema_change():
                self.tell(text)
                self.look()
            self.lasting = False

    def again(self):
        """Statements that were prepared before, whatever has become of what they name."""
        if self.prepared and self.chance(0.75):
            name = self.dice.choice(self.prepared)
            self.tell(f"execute {name}")
            return
        name = self.fresh("p")
        if self.tell(f"prepare {name} as {self.pick(self.query, self.query, self.change)()}"):
            self.prepared.append(name)

    def questions(self):
        """Everything, and what indexes may answer of it."""
        made = []
        for table in self.model.tables.values():
            if not table.columns or table.form == "t":
                continue
            made.append(f"select * from {table.name}")
            if table.form == "v" or table.name.startswith("log_"):
                continue
            scope = list(table.columns.items())
            for column, kind in scope:
                asks = kinds.ASKS.get(kind, [])
                for ask in self.dice.sample(asks, min(len(asks), 3)):
                    made.append(f"select count(*) from {table.name} where {self.filled(ask.replace('{0}', column), [], 0, True)}")
                made.append(f"select count(*) from {table.name} where {column} = {self.typed(kind, [], 0)}")
                made.append(f"select {column} from {table.name} order by {column} {self.pick('', 'desc')} limit 4")
        return made

    def end_block(self):
        if self.block:
            self.restore("rollback")
            self.block = self.savepoint = False

    def whole(self, said):
        self.end_block()
        self.look()
        # A dump has no rows of them.
        for view in self.model.of("m"):
            self.sides.both(f"refresh materialized view {view.name}")
        self.sides.alike([f"select * from {table.name}" for table in self.model.of("t")], said)
        for name, table in self.model.seen():
            link = " and ".join(f"s.{column} = {table.name}.{column}" for column in table.key)
            text = f"select count(*) from {table.name} join {name} s on {link} where {table.name}::text = s.was and {table.name}.xmin <> s.version"
            check(self.sides.quintet.ask(text)[2] == [["0"]], "another version of the same row:", text)
        questions = self.questions()
        self.sides.alike(questions, said)
        self.sides.worded(DEFINITIONS, said)
        return questions

    def checkpoint(self):
        """Everything is the same now, after a kill, and after a dump."""
        questions = self.whole("now: ")
        definitions = [self.sides.quintet.ask(text) for text in DEFINITIONS]
        self.told("-- killed")
        self.server.kill()
        self.server.start()
        self.sides.quintet = self.connect()
        self.sides.postgres.ask("deallocate all")
        self.sides.postgres.ask("discard temp")
        self.sides.postgres.ask("close all")
        self.holds = []
        self.look()
        self.prepared = []
        self.sides.alike(questions, "after a kill: ")
        check([self.sides.quintet.ask(text) for text in DEFINITIONS] == definitions, "definitions after a kill")
        self.dumped(questions)

    def dumped(self, questions):
        """A dump makes the same database here and there."""
        text = run([BINARY, "dump", "--target", f"postgres://quintet@127.0.0.1:{self.server.port}/{self.database}"])
        file = pathlib.Path(f"{self.kept}.dump")
        file.write_text(text)
        again = f"{self.database}_again"
        sides = []
        for address, user, first in self.places():
            new_database(address, user, first, again)
            run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", address[0], "-p", str(address[1]), "-U", user, "-f", file, again])
            sides.append(Side(address, user, again))
        # Not all definitions: what a dump leaves out or names otherwise is the dump's own test.
        for one, said in zip(sides, ["restored here: ", "restored in PostgreSQL: "]):
            Sides(one, self.sides.postgres).alike(questions, said)
            one.close()

    def places(self):
        return [(("127.0.0.1", self.server.port), "quintet", "quintet"), (*self.postgres, "postgres")]

    def run(self, count):
        for number in range(count):
            self.step()
            if number % STRETCH == STRETCH - 1:
                self.checkpoint()
        self.checkpoint()


def new_database(address, user, first, name):
    admin = Side(address, user, first)
    admin.ask(f"drop database if exists {name} with (force)")
    more = " template template0 lc_collate 'C' lc_ctype 'C.UTF-8'" if first == "postgres" else ""
    answer = admin.ask(f"create database {name}{more}")
    check(not answer[0], answer)
    admin.close()


def tell(seed, count, here, postgres, kept, prefix="program"):
    """One program; returns what it counted."""
    program = Program(seed, here, postgres, kept, prefix)
    began = time.monotonic()
    ended = ""
    try:
        program.start()
        program.run(count)
    except Slow as slow:
        ended = f", ended: {str(slow)[:200]}"
    except Differs as differs:
        raise Differs(f"seed {seed}, {kept}\n{differs}") from None
    finally:
        # A block that is left open would hold up others.
        if program.sides:
            program.sides.quintet.close()
            program.sides.postgres.close()
    print(f"  seed {seed}: {dict(program.sides.counts)}, {time.monotonic() - began:.0f} s{ended}", flush=True)
    return program


@test
def random_programs_say_and_leave_the_same():
    # The same ones each time, but for thorough runs: those may find what nobody knows of.
    seeds = range(Options.seed, Options.seed + 20) if Options.thorough else (1, 2)
    with directory() as path, server() as s:
        p = Reference(path / "pg")
        p.start()
        try:
            for seed in seeds:
                tell(seed, 2000 if Options.thorough else 200, s, (("127.0.0.1", p.port), "quintet"), path / f"{seed}.sql")
        finally:
            p.end()
