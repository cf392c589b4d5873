"""TPC-C as plain statements, by programs in Java (pgjdbc) and Go (pgx): no procedures, every statement of a transaction a round trip.

Both programs load the tables, run the five transactions on several connections until as many have begun as asked for, and say what has committed. A transaction
is run again for 40001, and with 40P01 where PostgreSQL finds a deadlock; any other error fails. Checked afterwards: the consistency conditions of
`quintet bench tpcc`, a few more, and that the tables hold exactly what the programs were told has committed.

Relies on: the jar, and the modules of Go, that `./test` fetches.  Promises: how much runs is counted, not timed.
"""

import json
import os
import pathlib
import shutil
from decimal import Decimal

from harness import BINARY, ROOT, Options, check, directory, equal, run, server, test

HERE = pathlib.Path(__file__).resolve().parent
JAR = ROOT / "target/test-jars/postgresql-42.7.4.jar"

# As `quintet bench tpcc --small`, whose conditions are asked.
WAREHOUSES, ITEMS, CUSTOMERS = 2, 1000, 30
DISTRICTS = 10
TERMINALS = 8


class Client:
    """A program that loads and runs; `database` is its host, port and name."""

    def __init__(self, command, schema):
        self.command = command
        self.schema = schema

    def load(self, database, scale, seed):
        run([*self.command, "load", *self.schema, *database, *scale, seed])

    def run(self, level, terminals, amount, database, scale, seed, timeout=300):
        out = run([*self.command, "run", level, terminals, amount, *database, *scale, seed], timeout=timeout)
        return json.loads(out.splitlines()[-1])


def jdbc(scratch):
    """The program in Java, compiled into `scratch`."""
    check(shutil.which("javac"), "no javac; install a JDK, e.g. apt-get install default-jdk-headless")
    check(JAR.exists(), JAR.name, "is missing; ./test fetches it with mvn")
    run(["javac", "-d", scratch, *sorted((HERE / "jdbc").glob("*.java"))])
    # Short runs: compiling well costs more than it saves.
    flags = [] if Options.thorough else ["-XX:TieredStopAtLevel=1"]
    return Client(["java", *flags, "-XX:+UseSerialGC", "-cp", f"{JAR}:{scratch}", "Tpcc"], [HERE / "jdbc/schema.sql"])


def pgx(scratch):
    """The program in Go, built into `scratch`."""
    check(shutil.which("go"), "no go; install it, e.g. apt-get install golang-go")
    program = pathlib.Path(scratch) / "tpcc"
    run(["go", "build", "-o", program, "."], cwd=HERE / "pgx", env={"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"})
    return Client([program], [])


@test
def jdbc_runs_to_the_end_and_the_tables_agree():
    with directory() as scratch:
        to_the_end(jdbc(scratch))


@test
def pgx_runs_to_the_end_and_the_tables_agree():
    with directory() as scratch:
        to_the_end(pgx(scratch))


def to_the_end(client):
    amount = 30_000 if Options.thorough else 300
    with server() as s:
        database = ["127.0.0.1", s.port, "quintet"]
        scale = [WAREHOUSES, ITEMS, CUSTOMERS]
        client.load(database, scale, Options.seed)
        committed = []
        for level in ("serializable", "repeatable_read", "read_committed"):
            done = client.run(level, TERMINALS, amount, database, scale, Options.seed + len(committed), timeout=3000)
            committed.append(done)
            print(f"  {level:16} {transactions(done):6} committed, {refused(done):5} run again, {done['seconds']:6.1f} s")
            equal(transactions(done) + done["rolled_back"], amount, done)
            # Drivers run again after 40001 and mostly after nothing else; at READ COMMITTED they expect PostgreSQL's word for a deadlock.
            check(Options.reference or level == "read_committed" or done["deadlocks"] == 0, done)
            holds(s, committed)
        damage_is_seen(client, s, committed, [*database, *scale])


def damage_is_seen(client, s, committed, tail):
    """The checks can fail: a row too many in the count, and a sum that is off, which the program in Go sees by itself."""
    with s.connect() as connection:
        connection.execute("update customer set c_payment_cnt = c_payment_cnt + 1 where c_w_id = 1 and c_d_id = 1 and c_id = 1")
        try:
            holds(s, committed)
        except AssertionError as error:
            check("count their payments" in str(error), error)
        else:
            check(False, "a wrong count was not seen")
        connection.execute("update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1")
    target = f"postgres://quintet@127.0.0.1:{s.port}/quintet"
    check("failed" in run(bench_check(target, WAREHOUSES), expected=None), "a wrong sum was not seen")
    if not client.schema:
        out = run([*client.command, "run", "serializable", 1, 0, *tail, Options.seed], expected=1)
        check("condition 1:" in out, out)


KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")


def transactions(done):
    return sum(done[kind] for kind in KINDS)


def refused(done):
    return sum(done[f"{kind}_refused"] for kind in KINDS) + done["deadlocks"] + done["overtaken"]


def holds(s, committed):
    """The tables are consistent, and have what `committed` says and no more."""
    conditions(f"postgres://quintet@127.0.0.1:{s.port}/quintet", WAREHOUSES)
    with s.connect() as connection:
        for name, sql in MORE_CONDITIONS.items():
            rows = connection.execute(sql.format(customers=CUSTOMERS)).fetchall()
            check(not rows, name, rows[:3])
        loaded = WAREHOUSES * DISTRICTS * CUSTOMERS
        undelivered = WAREHOUSES * DISTRICTS * (CUSTOMERS - CUSTOMERS * 7 // 10)
        orders, payments, lines, paid, delivered = (
            sum(done[name] for done in committed) for name in ("new_order", "payment", "lines", "paid_cents", "delivered")
        )
        for sql, expected in (
            ("select count(*) from orders", loaded + orders),
            ("select count(*) from new_order", undelivered + orders - delivered),
            ("select count(*) from history", loaded + payments),
            ("select sum(h_amount) from history", 10 * loaded + Decimal(paid) / 100),
            ("select sum(s_order_cnt) from stock", lines),
            ("select sum(c_payment_cnt) from customer", loaded + payments),
            ("select sum(c_delivery_cnt) from customer", delivered),
        ):
            equal(connection.execute(sql).fetchone()[0], expected, sql)


def conditions(target, warehouses):
    """The twelve of the specification, as `quintet bench` asks them of any server."""
    out = run(bench_check(target, warehouses))
    check("checking" in out, out)


def bench_check(target, warehouses):
    return [BINARY, "bench", "tpcc", "--small", "--warehouses", warehouses, "--target", target, "--check", "--seconds", 0]


# What the twelve do not see; each query finds what is wrong.
MORE_CONDITIONS = {
    "stock counts what was ordered of it": """
        SELECT s_w_id, s_i_id, s_ytd, s_order_cnt, s_remote_cnt
        FROM stock LEFT JOIN (
            SELECT ol_supply_w_id, ol_i_id, sum(ol_quantity) AS quantity, count(*) AS orders,
                   sum(CASE WHEN ol_w_id <> ol_supply_w_id THEN 1 ELSE 0 END) AS remote
            FROM order_line WHERE ol_o_id > {customers} GROUP BY ol_supply_w_id, ol_i_id
        ) AS ordered ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id
        WHERE s_ytd <> coalesce(quantity, 0) OR s_order_cnt <> coalesce(orders, 0) OR s_remote_cnt <> coalesce(remote, 0)""",
    # What is taken away comes back by 91 at a time, from what the loaders put there.
    "no update of a quantity is lost": """
        SELECT s_w_id, s_i_id, s_quantity, s_ytd FROM stock
        WHERE (s_quantity + s_ytd - (10 + (s_i_id * 7 + s_w_id) % 91)) % 91 <> 0 OR s_quantity NOT BETWEEN 10 AND 100""",
    "customers count their payments and deliveries": """
        SELECT c_w_id, c_d_id, c_id, c_payment_cnt, c_delivery_cnt FROM customer
        WHERE c_payment_cnt <> (SELECT count(*) FROM history WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id)
           OR c_delivery_cnt <> (SELECT count(*) FROM orders WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
                                 AND o_id > {customers} * 7 / 10 AND o_carrier_id IS NOT NULL)""",
}
