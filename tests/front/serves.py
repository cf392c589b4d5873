"""A front end serves clients as one server: calls, reads, transactions, errors; and replicas stay equal."""

import threading

from harness import Options, check, equal, run, test, BINARY, directory
from front.servers import front, replicas, wait_until_equal

POLICIES = ["chains", "chains+certify", "round-robin", "centralised-writes"]


def pay_all(f, clients=6, calls=25, accounts=5):
    """Every client pays into every account in turn; returns what each account should have."""
    errors = []

    def client(number):
        try:
            with f.connect() as connection:
                for i in range(calls):
                    connection.execute(f"CALL pay({(number + i) % accounts + 1}, {i + 1})")
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not errors, errors[:3])
    return clients * sum(range(1, calls + 1))


@test
def calls_run_once_and_reach_every_replica_under_every_policy():
    with replicas(3) as servers:
        total = 0
        for policy in POLICIES:
            for guarantee in ["psi", "snapshot"]:
                with front(servers, "--policy", policy, "--guarantee", guarantee) as f:
                    total += pay_all(f)
                    refused = f.metric("front_refused_total") + f.metric("front_conflicts_total")
                    check(not policy.startswith("chains") or refused == 0, policy, guarantee, "lost", refused)
                    wait_until_equal(servers)
                    with f.connect() as connection:
                        equal(connection.execute("SELECT sum(sum) FROM account").fetchone()[0], total, policy)
                        equal(connection.execute("SELECT sum(amount) FROM entry").fetchone()[0], total, policy)
                    equal(f.stop(), 0)


@test
def a_session_reads_its_own_writes_wherever_it_reads():
    with replicas(3) as servers, front(servers) as f, f.connect() as connection:
        for i in range(1, 61):
            connection.execute("CALL pay(1, 1)")
            # Three reads, so that each replica is asked now and then.
            for _ in range(3):
                equal(connection.execute("SELECT sum FROM account WHERE id = 1").fetchone()[0], i)


@test
def statements_go_where_they_belong():
    import psycopg

    with replicas(2) as servers, front(servers) as f, f.connect() as c:
        # Parameters, results, functions.
        equal(c.execute("CALL count_up(%s, NULL)", (3,)).fetchone()[0], 1)
        equal(c.execute("CALL count_up(3, NULL)").fetchone()[0], 2)
        equal(c.execute("SELECT balance(%s)", (3,)).fetchone()[0], 2)
        # Changes that are no calls.
        equal(c.execute("UPDATE account SET sum = 100 WHERE id = 4").rowcount, 1)
        equal(c.execute("INSERT INTO account VALUES (50, 5) RETURNING sum").fetchone()[0], 5)
        equal(c.execute("DELETE FROM account WHERE id = 50").rowcount, 1)
        # Errors of the procedure come as they are, and leave nothing.
        try:
            c.execute("CALL pay(99, 1)")
            check(False, "it should fail")
        except psycopg.Error as error:
            equal(error.sqlstate, "P0002")
            equal(error.diag.message_primary, "no account 99")
        # Transactions of the client's own.
        with f.connect(autocommit=False) as t:
            t.execute("UPDATE account SET sum = sum + 1 WHERE id = 5")
            equal(t.execute("SELECT sum FROM account WHERE id = 5").fetchone()[0], 1)
            t.commit()
            t.execute("UPDATE account SET sum = sum + 1 WHERE id = 5")
            t.rollback()
            t.execute("SAVEPOINT a")
            t.execute("UPDATE account SET sum = sum + 10 WHERE id = 5")
            t.execute("ROLLBACK TO a")
            t.execute("UPDATE account SET sum = sum + 2 WHERE id = 5")
            t.commit()
        equal(c.execute("SELECT sum FROM account WHERE id = 5").fetchone()[0], 3)
        with f.connect(autocommit=False) as t:
            try:
                t.execute("SELECT 1 / 0")
                check(False, "it should fail")
            except psycopg.Error as error:
                equal(error.sqlstate, "22012")
            try:
                t.execute("SELECT 1")
                check(False, "it should fail")
            except psycopg.Error as error:
                equal(error.sqlstate, "25P02")
            t.rollback()
            t.read_only = True
            try:
                t.execute("UPDATE account SET sum = 0")
                check(False, "it should fail")
            except psycopg.Error as error:
                equal(error.sqlstate, "25006")
            t.rollback()
        # Settings that matter reach the replicas; what has no place over replicas is refused.
        c.execute("SET timezone = 'Asia/Tokyo'")
        check("+09" in c.execute("SELECT '2026-01-01 00:00 UTC'::timestamptz::text").fetchone()[0], "time zone")
        equal(c.execute("SHOW quintet.policy").fetchone()[0], "chains")
        for text in ["CREATE TABLE x (a int)", "VACUUM", "LISTEN x", "COPY account FROM STDIN",
                     "SET session_replication_role = replica", "BEGIN ISOLATION LEVEL SERIALIZABLE"]:
            try:
                c.execute(text)
                check(False, "it should be refused:", text)
            except psycopg.Error as error:
                equal(error.sqlstate, "0A000", text)
        # Also at log-in: nothing is left out in silence.
        for option in ["default_transaction_isolation=serializable", "session_replication_role=replica"]:
            try:
                f.connect(options=f"'-c {option}'").close()
                check(False, "it should be refused:", option)
            except psycopg.Error as error:
                check("not supported" in str(error), option, error)
        f.connect(options="'-c timezone=UTC'", application_name="shop").close()
        # Several statements in a text are one transaction.
        try:
            c.execute("UPDATE account SET sum = 7 WHERE id = 6; SELECT 1 / 0")
            check(False, "it should fail")
        except psycopg.Error as error:
            equal(error.sqlstate, "22012")
        equal(c.execute("SELECT sum FROM account WHERE id = 6").fetchone()[0], 0)
        wait_until_equal(servers)


@test
def a_repeated_call_takes_place_once():
    import psycopg

    with replicas(2) as servers, front(servers) as f:
        with f.connect() as c:
            c.execute("SET quintet.client = 'till 4'")
            c.execute("SET quintet.call = 1")
            equal(c.execute("CALL count_up(1, NULL)").fetchone()[0], 1)
            equal(c.execute("CALL count_up(1, NULL)").fetchone()[0], 2)
        # As after a lost connection: the client cannot know whether its call took place.
        with f.connect() as c:
            c.execute("SET quintet.client = 'till 4'")
            c.execute("SET quintet.call = 2")
            equal(c.execute("CALL count_up(1, NULL)").fetchone()[0], 2, "the answer of then")
            equal(c.execute("CALL count_up(1, NULL)").fetchone()[0], 3, "the next")
            c.execute("SET quintet.call = 1")
            try:
                c.execute("CALL count_up(1, NULL)")
                check(False, "its answer is gone")
            except psycopg.Error as error:
                equal(error.sqlstate, "55000")
        f.stop()
        f.start()
        with f.connect() as c:
            c.execute("SET quintet.client = 'till 4'")
            c.execute("SET quintet.call = 3")
            equal(c.execute("CALL count_up(1, NULL)").fetchone()[0], 3, "also after a restart")
            equal(c.execute("SELECT sum FROM account WHERE id = 1").fetchone()[0], 3)


@test
def what_replicas_lack_is_said():
    with replicas(1) as servers:
        servers[0].stop()
        plain = [flag for flag in servers[0].flags]
        servers[0].flags = []
        servers[0].start()
        out = run([BINARY, "proxy", "--replica", servers[0].url()], expected=5)
        for word in ["wal_level", "max_prepared_transactions", "logical"]:
            check(word in out, word, "is not in", out)
        servers[0].stop()
        servers[0].flags = plain
        servers[0].start()
        with front(servers) as f:
            with f.connect() as c:
                c.execute("CALL pay(1, 1)")
            equal(f.stop(), 0)
        run([BINARY, "proxy", "--replica", servers[0].url(), "--remove"])
        with servers[0].connect() as c:
            equal(c.execute("SELECT count(*) FROM pg_replication_slots").fetchone()[0], 0)
            equal(c.execute("SELECT to_regnamespace('quintet')").fetchone()[0], None)


@test
def tpcc_holds_its_conditions_and_replicas_are_equal():
    def fill(first):
        run([BINARY, "bench", "tpcc", "--small", "--warehouses", 2, "--target", first.url(), "--load", "--seconds", 0])

    with replicas(3, schema="", fill=fill) as servers:
        with front(servers) as f:
            out = run([
                BINARY, "bench", "tpcc", "--small", "--warehouses", 2, "--target",
                f"postgres://quintet@127.0.0.1:{f.port}/quintet", "--clients", 8, "--as-is",
                "--seconds", 20 if Options.thorough else 4, "--warmup", 0.5, "--level", "snapshot",
            ])
            print("  " + " ".join(line for line in out.splitlines() if "committed" in line))
            equal(f.metric("front_refused_total") + f.metric("front_conflicts_total"), 0, "chains lose nothing")
            wait_until_equal(servers)
        run([
            BINARY, "bench", "tpcc", "--small", "--warehouses", 2, "--target", servers[1].url(), "--check", "--seconds", 0,
        ])
