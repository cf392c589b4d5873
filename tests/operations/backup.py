"""Backups of a server in use: what is restored is the state at one moment, and nothing half made looks whole."""

import shutil
import signal
import subprocess
import time

from crash import bank
from harness import BINARY, Server, check, directory, equal, rng, run, server, test


def url(s):
    return f"postgres://quintet@127.0.0.1:{s.port}/quintet"


def back_up(s, out):
    return run([BINARY, "backup", "--target", url(s), "--out", out])


def restored(backup, data, *flags):
    """A server on what was restored."""
    run([BINARY, "restore", "--from", backup, "--data", data])
    again = Server(data, *flags)
    again.start()
    return again


def ledger(s):
    with s.connect() as connection:
        return {row[0] for row in connection.execute("select id from ledger").fetchall()}


def sums(s):
    with s.connect() as connection:
        (total,) = connection.execute("select sum(balance) from account").fetchone()
        equal(total, bank.ACCOUNTS * bank.BALANCE, "sum of balances")
        moved = dict.fromkeys(range(bank.ACCOUNTS), bank.BALANCE)
        for payer, payee, amount in connection.execute("select payer, payee, amount from ledger").fetchall():
            moved[payer] -= amount
            moved[payee] += amount
        found = dict(connection.execute("select id, balance from account").fetchall())
        equal(found, moved, "balances by the ledger")


@test
def a_backup_under_load_has_what_was_acknowledged_before_it_and_nothing_sent_after_it():
    random = rng("backup")
    with directory() as path, server("--memory", "64MiB") as s:
        bank.create(s)
        clients = bank.start(s, 4, random)
        for number in range(3):
            time.sleep(random.uniform(0.5, 1.5))
            before = set().union(*(set(c.acknowledged) for c in clients))
            print("  " + back_up(s, path / f"backup{number}").strip())
            after = set().union(*(set(c.sent) for c in clients))
            again = restored(path / f"backup{number}", path / f"data{number}")
            try:
                found = ledger(again)
                check(before <= found, "acknowledged and not there:", sorted(before - found)[:5])
                check(found <= after, "there and sent later:", sorted(found - after)[:5])
                sums(again)
                # What was restored is a database like any other.
                with again.connect() as connection:
                    connection.execute("insert into ledger values (-1, 0, 1, 0)")
                again.kill()
                again.start()
                check(-1 in ledger(again), "a commit after the restore is lost")
            finally:
                again.end()
        check(all(client.is_alive() for client in clients), "a client has ended:", [c.refused for c in clients])
        bank.join(clients)
        bank.audit(s, clients)


@test
def a_backup_that_is_killed_leaves_no_backup_and_the_source_unharmed():
    random = rng("killed backup")
    with directory() as path, server("--memory", "64MiB") as s:
        bank.create(s)
        with s.connect() as connection:
            connection.execute("create table filler (id int primary key, v text)")
            for number in range(40):
                connection.execute(
                    "insert into filler select %s * 1000 + n, md5(n::text) || repeat(md5(random()::text), 10)"
                    " from generate_series(1, 1000) n", (number,),
                )
        clients = bank.start(s, 3, random)
        out = path / "backup"
        began = time.monotonic()
        back_up(s, out)
        takes = time.monotonic() - began
        shutil.rmtree(out)
        killed = 0
        # As long as one of them takes: nearly every kill comes before the end, however fast the machine is.
        while killed < 5:
            check(time.monotonic() - began < 120, "every backup was faster than its end")
            process = subprocess.Popen([BINARY, "backup", "--target", url(s), "--out", out])
            time.sleep(random.uniform(0.0, takes))
            process.send_signal(signal.SIGKILL)
            if process.wait() != 0:
                killed += 1
            # What was killed is a backup or none: of part of the records nothing is made. A kill may come
            # after the last record was written and before the name, or after the name.
            whole = out.exists()
            there = out if whole else path / "backup.part"
            if there.exists():
                made = path / "none"
                done = subprocess.run([BINARY, "restore", "--from", there, "--data", made], capture_output=True, text=True)
                if done.returncode != 0:
                    check(not whole, "an unfinished backup has its name:", done.stderr)
                else:
                    again = Server(made)
                    again.start()
                    try:
                        sums(again)
                        with again.connect() as connection:
                            equal(connection.execute("select count(*) from filler").fetchone(), (40_000,))
                    finally:
                        again.end()
                shutil.rmtree(made, ignore_errors=True)
                shutil.rmtree(there)
        # And the server, while a backup is read from it.
        process = subprocess.Popen([BINARY, "backup", "--target", url(s), "--out", out], stderr=subprocess.DEVNULL)
        time.sleep(0.1)
        s.kill()
        if process.wait() != 0:
            check(not out.exists(), "the backup of a server that was killed has its name")
        else:
            shutil.rmtree(out)
        bank.join(clients)
        s.start()
        bank.audit(s, clients)
        back_up(s, out)
        again = restored(out, path / "data")
        try:
            sums(again)
            with again.connect() as connection:
                equal(connection.execute("select count(*) from filler").fetchone(), (40_000,))
        finally:
            again.end()


@test
def a_full_disk_ends_the_backup_and_nothing_else():
    from crash.disk_full import small_disk

    random = rng("backup on a full disk")
    with small_disk(16) as disk, directory() as path, server("--memory", "64MiB") as s:
        bank.create(s)
        with s.connect() as connection:
            connection.execute("create table filler (id int primary key, v text)")
            for number in range(20):
                connection.execute(
                    "insert into filler select %s * 1000 + n, repeat(md5(random()::text), 40)"
                    " from generate_series(1, 1000) n", (number,),
                )
        clients = bank.start(s, 3, random)
        said = run([BINARY, "backup", "--target", url(s), "--out", disk / "backup"], expected=4)
        check("No space left" in said, said)
        check(not (disk / "backup").exists(), "it has its name all the same")
        back_up(s, path / "backup")
        check(all(client.is_alive() for client in clients), "a client has ended:", [c.refused for c in clients])
        bank.join(clients)
        bank.audit(s, clients)


@test
def what_is_there_is_not_written_over_and_damage_is_told():
    with directory() as path, server() as s:
        bank.create(s)
        out = path / "backup"
        back_up(s, out)
        check("is there already" in run([BINARY, "backup", "--target", url(s), "--out", out], expected=2))
        check("in use" in run([BINARY, "backup", "--data", s.data, "--out", path / "other"], expected=3))
        check("is there already" in run([BINARY, "restore", "--from", out, "--data", s.data], expected=2))
        s.stop()
        check("no database" in run([BINARY, "backup", "--data", path / "empty", "--out", path / "other"], expected=4))
        check(not (path / "empty").exists(), "a database was made to be backed up")
        run([BINARY, "backup", "--data", s.data, "--out", path / "other"])
        records = out / "records-0000"
        damaged = bytearray(records.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        records.write_bytes(damaged)
        check("damaged" in run([BINARY, "restore", "--from", out, "--data", path / "data"], expected=4))
        check("cannot open" in run([BINARY, "sql", "--data", path / "data", "-c", "select 1"], expected=4))
        again = restored(path / "other", path / "data2")
        try:
            sums(again)
        finally:
            again.end()
