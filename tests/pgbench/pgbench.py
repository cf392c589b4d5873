"""pgbench: every built-in script in every protocol mode, and sums that agree afterwards."""

import re

from harness import Options, check, directory, equal, run, server, test

SCRIPTS = ["tpcb-like", "simple-update", "select-only"]
MODES = ["simple", "extended", "prepared"]


def pgbench(s, *arguments):
    return run(["pgbench", *s.arguments(), *arguments, "quintet"])


def initialize(s, scale, *arguments):
    return pgbench(s, "-i", "-q", "-s", scale, *arguments)


def balances(s):
    """The four sums that tpcb-like keeps equal."""
    with s.connect() as connection:
        one = lambda sql: connection.execute(sql).fetchone()[0]  # noqa: E731
        return (
            one("select sum(abalance) from pgbench_accounts"),
            one("select sum(tbalance) from pgbench_tellers"),
            one("select sum(bbalance) from pgbench_branches"),
            one("select coalesce(sum(delta), 0) from pgbench_history"),
        )


@test
def every_script_in_every_mode_and_the_sums_agree():
    scale, seconds = (10, 10) if Options.thorough else (1, 2)
    with server() as s:
        initialize(s, scale)
        equal(balances(s), (0, 0, 0, 0))
        history = 0
        for script in SCRIPTS:
            if script == "simple-update":
                # It leaves tellers and branches alone: what tpcb-like left must agree by now.
                accounts, tellers, branches, delta = balances(s)
                equal((tellers, branches, delta), (accounts, accounts, accounts))
            for mode in MODES:
                out = pgbench(s, "-n", "-b", script, "-M", mode, "-c", 8, "-j", 2, "-T", seconds)
                done = int(re.search(r"number of transactions actually processed: (\d+)", out)[1])
                equal(re.search(r"number of failed transactions: (\d+)", out)[1], "0", out)
                rate = re.search(r"tps = ([\d.]+)", out)[1]
                print(f"  {script:14} {mode:9} {done:7} transactions, {float(rate):9.0f} tps")
                check(done > 0, out)
                if script != "select-only":
                    history += done
        accounts, _, _, delta = balances(s)
        equal(accounts, delta)
        with s.connect() as connection:
            equal(connection.execute("select count(*) from pgbench_history").fetchone()[0], history)


@test
def every_way_to_initialize():
    with server() as s:
        initialize(s, 1)
        # Again over what is there, with rows made by the server.
        initialize(s, 1, "-I", "dtGvp")
        with s.connect() as connection:
            count = connection.execute("select count(*), min(aid), max(aid) from pgbench_accounts").fetchone()
            equal(count, (100_000, 1, 100_000))
        # Without -n pgbench vacuums and truncates first.
        out = pgbench(s, "-t", 50, "-c", 2)
        check("number of transactions actually processed: 100/100" in out, out)


@test
def serializable_retries_until_all_are_done():
    with server() as s:
        initialize(s, 1)
        out = run(
            ["pgbench", *s.arguments(), "-n", "-c", 8, "-j", 2, "-t", 200, "--max-tries", 1000, "quintet"],
            env={"PGOPTIONS": "-c default_transaction_isolation=serializable"},
        )
        check("number of transactions actually processed: 1600/1600" in out, out)
        accounts, tellers, branches, delta = balances(s)
        equal((tellers, branches, delta), (accounts, accounts, accounts))


@test
def foreign_keys_hold_under_load():
    with server() as s:
        initialize(s, 1, "--foreign-keys", "--unlogged-tables", "--fillfactor", 90)
        # Again with rows made by the server: it drops and makes them in an order that the keys allow.
        initialize(s, 1, "-I", "dtGpfv")
        each = 2000 if Options.thorough else 40
        for mode in MODES:
            out = pgbench(s, "-n", "-M", mode, "-c", 8, "-j", 2, "-t", each)
            check(f"number of transactions actually processed: {8 * each}/{8 * each}" in out, out)
        accounts, tellers, branches, delta = balances(s)
        equal((tellers, branches, delta), (accounts, accounts, accounts))
        with s.connect() as connection:
            equal(connection.execute("select count(*) from pgbench_history").fetchone()[0], 3 * 8 * each)
            equal(connection.execute("select count(*) from pg_constraint where contype = 'f'").fetchone()[0], 5)
            check_refused(connection, "insert into pgbench_history (tid, bid, aid) values (1, 2, 1)")
            check_refused(connection, "delete from pgbench_branches")


def check_refused(connection, sql):
    try:
        connection.execute(sql)
    except Exception as error:
        equal(getattr(error, "sqlstate", None), "23503", sql)
        return
    check(False, sql, "went through")


# Many messages before one Sync, \gset and \if: what built-in scripts do not have.
PIPELINE = """
\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
\\startpipeline
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, CURRENT_TIMESTAMP);
COMMIT;
\\endpipeline
SELECT abalance FROM pgbench_accounts WHERE aid = :aid \\gset
\\if :abalance > 0
SELECT 1 / :abalance;
\\endif
"""


@test
def pipelines_mixed_scripts_and_a_connection_each():
    with server() as s, directory() as path:
        script = path / "pipeline.sql"
        script.write_text(PIPELINE)
        initialize(s, 1)
        history = 0
        for mode in ("extended", "prepared"):
            out = pgbench(s, "-n", "-M", mode, "-c", 4, "-t", 50, "-f", script)
            check("number of transactions actually processed: 200/200" in out, out)
            history += 200
        # One thread: several count a script's transactions without a lock, and sometimes one too few.
        out = pgbench(s, "-n", "-c", 4, "-j", 1, "-t", 50, "-r", "-b", "simple-update@4", "-b", "select-only@6")
        check("number of transactions actually processed: 200/200" in out, out)
        history += int(re.search(r"SQL script 1: .*?\n - weight.*?\n - (\d+) transactions", out, re.S)[1])
        out = pgbench(s, "-n", "-C", "-c", 2, "-t", 20, "-b", "simple-update")
        check("number of transactions actually processed: 40/40" in out, out)
        history += 40
        accounts, _, _, delta = balances(s)
        equal(accounts, delta)
        with s.connect() as connection:
            equal(connection.execute("select count(*) from pgbench_history").fetchone()[0], history)


@test
def partitioned_accounts_by_range_and_by_hash():
    each = 2000 if Options.thorough else 40
    with server() as s:
        for method in ("range", "hash"):
            initialize(s, 1, "--partitions", 7, "--partition-method", method)
            for mode in MODES:
                out = pgbench(s, "-n", "-M", mode, "-c", 8, "-j", 2, "-t", each)
                check(f"number of transactions actually processed: {8 * each}/{8 * each}" in out, out)
            check(f"partition method: {method}\npartitions: 7\n" in out, out)
            accounts, tellers, branches, delta = balances(s)
            equal((tellers, branches, delta), (accounts, accounts, accounts))
            with s.connect() as connection:
                one = lambda sql: connection.execute(sql).fetchone()[0]  # noqa: E731
                parts = [one(f"select count(*) from pgbench_accounts_{n}") for n in range(1, 8)]
                equal(sum(parts), 100_000)
                check(min(parts) > 13_000, parts)
                equal(sum(one(f"select sum(abalance) from pgbench_accounts_{n}") or 0 for n in range(1, 8)), accounts)
