"""The workload of the crash tests: transfers whose acknowledgements the clients write down.

    accounts   account -> balance                 every account starts with the same balance
    ledger     identifier -> (from, to, amount)   written in the transaction that moves the money

    client: sent --> acknowledged     must be in the ledger
                `--> no answer        may be in the ledger, whole or not at all
"""

import threading

import psycopg
from harness import check, equal

ACCOUNTS = 200
BALANCE = 1000


def create(s):
    with s.connect() as connection:
        connection.execute("create table account (id int primary key, balance bigint not null)")
        connection.execute(
            "create table ledger (id bigint primary key, payer int not null, payee int not null, amount int not null)"
        )
        connection.cursor().executemany("insert into account values (%s, %s)", [(i, BALANCE) for i in range(ACCOUNTS)])


class Client(threading.Thread):
    """Sends transfers until it is stopped or its connection breaks."""

    # Errors after which the same client goes on with its next transfer.
    CONFLICTS = ("40001", "40P01")

    def __init__(self, s, number, rng, padding=0):
        super().__init__(daemon=True)
        self.server = s
        self.number = number
        self.rng = rng
        # Characters of filler written beside each transfer; random, so that nothing compresses it.
        self.padding = padding
        self.sent = {}
        self.acknowledged = set()
        self.stopping = threading.Event()
        # SQLSTATE of the refusal that ended it, None if the connection broke or it was stopped.
        self.refused = None

    def run(self):
        try:
            with self.server.connect(autocommit=False) as connection:
                while not self.stopping.is_set():
                    self.transfer(connection)
        except psycopg.OperationalError as error:
            self.refused = error.sqlstate
        except psycopg.Error as error:
            self.refused = error.sqlstate or "none"

    def transfer(self, connection):
        identifier = self.number * 1_000_000_000 + len(self.sent)
        payer, payee = self.rng.sample(range(ACCOUNTS), 2)
        amount = self.rng.randint(1, 100)
        self.sent[identifier] = (payer, payee, amount)
        try:
            # In the order of the keys, so that two transfers never wait for each other in a ring.
            for account, change in sorted([(payer, -amount), (payee, amount)]):
                connection.execute("update account set balance = balance + %s where id = %s", (change, account))
            connection.execute("insert into ledger values (%s, %s, %s, %s)", (identifier, payer, payee, amount))
            if self.padding:
                connection.execute("insert into padding values (%s, %s)", (identifier, self.rng.randbytes(self.padding // 2).hex()))
            connection.commit()
        except psycopg.Error as error:
            if error.sqlstate not in self.CONFLICTS:
                raise
            connection.rollback()
            return
        self.acknowledged.add(identifier)


def start(s, count, rng, first=0, padding=0):
    """`first` keeps the identifiers of later clients apart from those of earlier ones."""
    clients = [Client(s, first + i, type(rng)(rng.random()), padding) for i in range(count)]
    for client in clients:
        client.start()
    return clients


def join(clients):
    for client in clients:
        client.stopping.set()
    for client in clients:
        client.join(timeout=60)
        check(not client.is_alive(), "a client hangs")


def audit(s, clients, may_lose=False):
    """Holds the database against what the clients know; returns (acknowledged, present)."""
    sent = {identifier: transfer for client in clients for identifier, transfer in client.sent.items()}
    acknowledged = set().union(*(client.acknowledged for client in clients))
    with s.connect() as connection:
        ledger = {row[0]: row[1:] for row in connection.execute("select id, payer, payee, amount from ledger")}
        accounts = dict(connection.execute("select id, balance from account").fetchall())
    lost = acknowledged - ledger.keys()
    if not may_lose:
        check(not lost, f"{len(lost)} acknowledged transfers are lost, the first is", min(lost, default=None))
    for identifier, transfer in ledger.items():
        equal(transfer, sent.get(identifier), f"transfer {identifier}")
    expected = dict.fromkeys(range(ACCOUNTS), BALANCE)
    for payer, payee, amount in ledger.values():
        expected[payer] -= amount
        expected[payee] += amount
    equal(accounts, expected, "balances against the ledger:")
    return len(acknowledged), len(ledger)
