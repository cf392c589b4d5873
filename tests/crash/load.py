"""Everything at once: transfers, batches that come and go, and schema changes, each with what it must leave.

Relies on: `bank` for the transfers.  Promises: an audit says of every statement whether the database kept
the promise its answer made; loads of one `Load` go on where the last one ended.  Does not: end the server.

    transfers   see bank; each with filler of its own in another table, so that memory runs out often
    batches     rows that come in one transaction and go in one; an index finds them by batch
    schema      a table that is made, filled, indexed, emptied and dropped again; an index on the ledger
                that comes and goes while transfers run

A schema changer has one connection, so at most its last statement is in doubt:

    known ──statement──► known or next ──answer──► next is known
                             `──no answer: the audit sees which of the two it is
"""

import threading

import psycopg
from harness import check, equal

from . import bank


class Worker(threading.Thread):
    """Repeats `step` until it is stopped or the server no longer answers."""

    def __init__(self, s, rng):
        super().__init__(daemon=True)
        self.server = s
        self.rng = rng
        self.stopping = threading.Event()
        self.refused = None

    def run(self):
        try:
            with self.server.connect() as connection:
                while not self.stopping.is_set():
                    self.step(connection)
        except psycopg.OperationalError as error:
            self.refused = error.sqlstate
        except psycopg.Error as error:
            self.refused = error.sqlstate or "none"

    def attempt(self, connection, statements):
        """One transaction; false if it was refused, in which case it left nothing."""
        try:
            with connection.transaction():
                for statement, values in statements:
                    connection.execute(statement, values)
        except psycopg.Error as error:
            if error.sqlstate not in bank.Client.CONFLICTS:
                raise
            return False
        return True


class Batches(Worker):
    ROWS_MAX = 30

    def __init__(self, s, rng, number):
        super().__init__(s, rng)
        self.first = number * 1_000_000
        # Batch -> rows, and what was asked and answered.
        self.sent = {}
        self.inserted = set()
        self.removals_sent = set()
        self.removed = set()

    def step(self, connection):
        there = sorted(self.inserted - self.removals_sent)
        if there and self.rng.random() < 0.3:
            batch = self.rng.choice(there)
            self.removals_sent.add(batch)
            if self.attempt(connection, [("delete from event where batch = %s", (batch,))]):
                self.removed.add(batch)
            else:
                self.removals_sent.discard(batch)
            return
        batch = self.first + len(self.sent)
        self.sent[batch] = self.rng.randint(1, self.ROWS_MAX)
        statement = "insert into event values (%s, %s, %s)"
        rows = [(batch * self.ROWS_MAX + i, batch, self.rng.randbytes(40).hex()) for i in range(self.sent[batch])]
        if self.attempt(connection, [(statement, row) for row in rows]):
            self.inserted.add(batch)


# What a schema changer knows: rows of its table (None: no table), is it indexed, is the ledger.
START = (None, False, False)


class SchemaChanger(Worker):
    TABLE = "changing"

    def __init__(self, s, rng, known):
        super().__init__(s, rng)
        self.known = known
        self.next = known
        self.changes = 0

    def step(self, connection):
        rows, indexed, ledger = self.known
        choices = []
        if rows is None:
            choices.append((f"create table {self.TABLE} (id int primary key, half int not null)", (frozenset(), False, ledger)))
        else:
            first = max(rows, default=0) + 1
            new = range(first, first + self.rng.randint(1, 40))
            values = ", ".join(f"({i}, {i // 2})" for i in new)
            choices += [
                (f"insert into {self.TABLE} values {values}", (rows | set(new), indexed, ledger)),
                (f"truncate {self.TABLE}", (frozenset(), indexed, ledger)),
                (f"drop table {self.TABLE}", (None, False, ledger)),
            ]
            if indexed:
                choices.append(("drop index changing_half", (rows, False, ledger)))
            else:
                choices.append((f"create index changing_half on {self.TABLE} (half)", (rows, True, ledger)))
        if ledger:
            choices.append(("drop index ledger_payer", (rows, indexed, False)))
        else:
            choices.append(("create index ledger_payer on ledger (payer)", (rows, indexed, True)))
        statement, self.next = self.rng.choice(choices)
        if self.attempt(connection, [(statement, None)]):
            self.known = self.next
            self.changes += 1
        else:
            self.next = self.known
        self.stopping.wait(self.rng.uniform(0, 0.05))

    def audit(self, connection, may_lose):
        tables = {row[0] for row in connection.execute("select tablename from pg_tables")}
        indexes = {row[0] for row in connection.execute("select indexname from pg_indexes")}
        rows = None
        if self.TABLE in tables:
            found = connection.execute(f"select id, half from {self.TABLE}").fetchall()
            check(all(half == i // 2 for i, half in found), "rows of", self.TABLE, "are not as they were written")
            rows = frozenset(i for i, _ in found)
            if "changing_half" in indexes:
                index_agrees(connection, self.TABLE, "half", "changing_half")
        if "ledger_payer" in indexes:
            index_agrees(connection, "ledger", "payer", "ledger_payer")
        state = (rows, "changing_half" in indexes, "ledger_payer" in indexes)
        if not may_lose:
            check(state in (self.known, self.next), "schema: found", state, "expected", self.known, "or", self.next)
        self.known = self.next = state


def index_agrees(connection, table, column, index):
    """Every row is found by the index and nothing else is."""
    by_index = f"select * from {table} where {column} >= 0"
    plan = "\n".join(row[0] for row in connection.execute("explain " + by_index))
    check(index in plan, "the index is not used:", plan)
    found = connection.execute(by_index).fetchall()
    equal(len(found), len(set(found)), f"rows twice in {index}:")
    there = set(connection.execute(f"select * from {table}"))
    check(set(found) == there, index, "misses", list(there - set(found))[:3], "and has", list(set(found) - there)[:3])


def audit_batches(connection, workers, may_lose):
    found = dict(connection.execute("select batch, count(*) from event group by batch").fetchall())
    sent = {batch: rows for worker in workers for batch, rows in worker.sent.items()}
    for batch, rows in found.items():
        equal(rows, sent.get(batch), f"rows of batch {batch}:")
    if not may_lose:
        for worker in workers:
            lost = worker.inserted - worker.removals_sent - found.keys()
            check(not lost, len(lost), "acknowledged batches are lost, the first is", min(lost, default=None))
            back = worker.removed & found.keys()
            check(not back, len(back), "removed batches are back, the first is", min(back, default=None))
    index_agrees(connection, "event", "batch", "event_batch")
    return len(found)


class Load:
    """The load on one server, over many starts of it."""

    def __init__(self, s, rng, clients=4, padding=20_000):
        self.server = s
        self.rng = rng
        self.clients = clients
        self.padding = padding
        self.transfers = []
        self.batches = []
        self.changer = None
        self.changes = 0
        self.running = []

    def create(self):
        bank.create(self.server)
        with self.server.connect() as connection:
            connection.execute("create table padding (id bigint primary key, filler text not null)")
            connection.execute("create table event (id bigint primary key, batch bigint not null, body text not null)")
            connection.execute("create index event_batch on event (batch)")

    def start(self):
        transfers = bank.start(self.server, self.clients, self.rng, first=len(self.transfers), padding=self.padding)
        own = type(self.rng)
        batches = Batches(self.server, own(self.rng.random()), len(self.batches))
        self.changer = SchemaChanger(self.server, own(self.rng.random()), self.changer.known if self.changer else START)
        batches.start()
        self.changer.start()
        self.transfers += transfers
        self.batches.append(batches)
        self.running = [*transfers, batches, self.changer]

    def join(self):
        bank.join(self.running)
        self.changes += self.changer.changes

    def refusals(self):
        """SQLSTATEs that ended the last clients; None stands for a connection that broke."""
        return {worker.refused for worker in self.running}

    def audit(self, may_lose=False):
        """Returns (acknowledged, present) of the transfers."""
        acknowledged, present = bank.audit(self.server, self.transfers, may_lose)
        with self.server.connect() as connection:
            padded = connection.execute("select count(*), min(length(filler)), max(length(filler)) from padding").fetchone()
            equal(padded, (present, *[self.padding if present else None] * 2), "a transfer has its padding:")
            audit_batches(connection, self.batches, may_lose)
            if self.changer:
                self.changer.audit(connection, may_lose)
        return acknowledged, present

    def store_tablets(self):
        """Files of STORE's tablets: how much has been compacted shows in it."""
        return sum(1 for file in (self.server.data / "store" / "spaces").glob("*/tables/*"))
