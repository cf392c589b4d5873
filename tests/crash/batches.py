"""kill -9 amid batches: an acknowledged call is there, a call that raised an error is not, none is in part."""

import time

import psycopg
from harness import Options, check, equal, rng, server, test

from . import bank

# Of the calls, so many raise an error after they have written.
RAISES = 0.1


class Caller(bank.Client):
    """The transfers of the bank as calls; all of them pay into one account, so that batches form."""

    def __init__(self, s, number, rng):
        super().__init__(s, number, rng)
        self.raised = set()

    def run(self):
        try:
            with self.server.connect() as connection:
                while not self.stopping.is_set():
                    self.transfer(connection)
        except psycopg.OperationalError as error:
            self.refused = error.sqlstate
        except psycopg.Error as error:
            self.refused = error.sqlstate or "none"

    def transfer(self, connection):
        identifier = self.number * 1_000_000_000 + len(self.sent)
        payer, payee = self.rng.randrange(1, bank.ACCOUNTS), 0
        amount = self.rng.randint(1, 100)
        fails = self.rng.random() < RAISES
        self.sent[identifier] = (payer, payee, amount)
        try:
            connection.execute("call transfer(%s, %s, %s, %s, %s)", (identifier, payer, payee, amount, fails))
        except psycopg.errors.RaiseException:
            self.raised.add(identifier)
            return
        check(not fails, "a call that raises an error was acknowledged")
        self.acknowledged.add(identifier)


def create(s):
    bank.create(s)
    with s.connect() as connection:
        connection.execute(
            """create procedure transfer(id bigint, payer int, payee int, amount int, fails bool) language plpgsql as $$
               begin
                 update account a set balance = balance - amount where a.id = payer;
                 update account a set balance = balance + amount where a.id = payee;
                 insert into ledger values (transfer.id, payer, payee, amount);
                 if fails then raise exception 'no'; end if;
               end $$"""
        )


def rounds(flags, count, may_lose=False):
    random = rng("batches" + "".join(flags))
    with server("--engine", "queue", *flags) as s:
        create(s)
        everyone = []
        for number in range(count):
            callers = [Caller(s, len(everyone) + i, type(random)(random.random())) for i in range(12)]
            for caller in callers:
                caller.start()
            everyone += callers
            time.sleep(random.uniform(0.1, 1.0))
            s.kill()
            bank.join(callers)
            equal({c.refused for c in callers} - {None}, set(), "refused before the kill:")
            s.start()
            acknowledged, present = bank.audit(s, everyone, may_lose)
            with s.connect() as connection:
                there = {row[0] for row in connection.execute("select id from ledger")}
            raised = set().union(*(c.raised for c in everyone))
            equal(there & raised, set(), "of calls that raised an error, there are")
            print(f"  round {number}: {acknowledged} acknowledged, {present} present, {len(raised)} raised")
        check(acknowledged > 20 * count or may_lose, "hardly anything ran")
        check(len(raised) > count, "hardly any call raised an error")
        equal(s.stop(), 0, "exit code")


@test
def kills_amid_batches_lose_nothing_acknowledged():
    rounds([], Options.rounds or 5)


@test
def kills_amid_batches_under_async_leave_whole_calls():
    rounds(["--durability", "async", "--lanes", "1"], 3, may_lose=True)
