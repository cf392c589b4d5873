"""Triggers that wait for the commit: a server that is killed keeps all that they wrote, or none of it.

    entry   (id, txn, amount)   sums to 0 for each transaction, else its deferred trigger refuses the commit
    booked  txn -> entries      written by that trigger

    client: acknowledged --> entries and what the trigger wrote    refused --> neither    no answer --> both or neither
"""

import random
import threading
import time

import psycopg
from harness import Options, check, equal, rng, server, test

ROUNDS = 3
CLIENTS = 4

SCHEMA = """
create table entry (id bigserial primary key, txn bigint not null, amount int not null);
create index entry_txn on entry (txn);
create table booked (txn bigint primary key, entries int not null);
create function book() returns trigger language plpgsql as $$ declare total int; entries int; begin
    select sum(amount), count(*) into total, entries from entry where txn = new.txn;
    if total <> 0 then raise exception 'off by %', total using errcode = 'P0077'; end if;
    insert into booked values (new.txn, entries) on conflict (txn) do nothing;
    return null;
end $$;
create constraint trigger books after insert on entry deferrable initially deferred for each row execute function book();
"""


class Client(threading.Thread):
    """Books transactions, one in five of which is wrong, until its connection breaks."""

    def __init__(self, s, number, seed, level):
        super().__init__(daemon=True)
        self.server, self.number, self.rng, self.level = s, number, random.Random(seed), level
        self.acknowledged, self.refused, self.unknown = {}, set(), set()
        self.fault = None

    def run(self):
        try:
            with self.server.connect(autocommit=False) as connection:
                connection.isolation_level = self.level
                for place in range(1_000_000):
                    self.book(connection, self.number * 1_000_000 + place)
        except psycopg.Error:
            pass
        except AssertionError as fault:
            self.fault = fault

    def book(self, connection, txn):
        amounts = [1, -1] * self.rng.choice([1, 2])
        wrong = self.rng.random() < 0.2
        if wrong:
            amounts.append(7)
        self.unknown.add(txn)
        try:
            for place, amount in enumerate(amounts):
                connection.execute("insert into entry (txn, amount) values (%s, %s)", (txn, amount))
                if place == 0 and self.rng.random() < 0.3:
                    connection.execute("savepoint s; insert into entry (txn, amount) values (%s, 99); rollback to s" % txn)
            connection.commit()
            check(not wrong, "what is off by 7 was committed")
            self.acknowledged[txn] = len(amounts)
        except psycopg.Error as error:
            if connection.closed or connection.broken:
                raise
            check(error.sqlstate in ("P0077", "40001", "40P01"), error)
            connection.rollback()
            self.refused.add(txn)
        self.unknown.discard(txn)


@test
def what_deferred_triggers_write_is_there_as_a_whole_or_not_at_all():
    levels = [psycopg.IsolationLevel.READ_COMMITTED, psycopg.IsolationLevel.SERIALIZABLE]
    draw = rng("deferred")
    with server() as s:
        with s.connect() as c:
            c.execute(SCHEMA)
        for turn in range(Options.rounds or ROUNDS):
            clients = [
                Client(s, turn * CLIENTS + n + 1, draw.random(), levels[n % 2]) for n in range(CLIENTS)
            ]
            for client in clients:
                client.start()
            time.sleep(draw.uniform(0.5, 1.5))
            s.kill()
            for client in clients:
                client.join()
                equal(client.fault, None)
            s.start()
            with s.connect() as c:
                entries = dict(c.execute("select txn, count(*) from entry group by txn").fetchall())
                booked = dict(c.execute("select txn, entries from booked").fetchall())
                off = c.execute("select txn from entry group by txn having sum(amount) <> 0").fetchall()
            equal(off, [], "transactions that do not add up")
            equal(entries, booked, "entries, and what the triggers wrote of them")
            for client in clients:
                for txn, count in client.acknowledged.items():
                    equal(entries.get(txn), count, "an acknowledged transaction")
                for txn in client.refused:
                    check(txn not in entries, "a refused transaction is there", txn)
            check(any(client.acknowledged for client in clients), "nothing was acknowledged")
