"""The kept log: a restore to a chosen moment, also with what is left of a server that is gone."""

import time

from crash import bank
from harness import BINARY, Server, check, directory, equal, rng, run, test

from .backup import back_up, ledger, sums, url


@test
def a_restore_goes_to_a_chosen_commit_exactly():
    random = rng("until")
    with directory() as path:
        s = Server(path / "data", "--memory", "64MiB", "--log-archive", str(path / "archive"))
        s.start()
        try:
            bank.create(s)
            back_up(s, path / "backup")
            clients = bank.start(s, 3, random)
            for number in range(3):
                time.sleep(0.7)
                with s.connect() as connection:
                    connection.execute("checkpoint")
            bank.join(clients)
            with s.connect() as connection:
                listed = connection.execute("select * from quintet_changes(0)").fetchall()
            # Position, moment and identifier of each transfer, in the order of commits.
            commits = [(c[0], c[1], c[6]["id"]) for c in listed if c[2] == "upsert" and c[4] == "ledger"]
            equal({c[2] for c in commits}, ledger(s), "transfers in the log")
            everything = ledger(s)
        finally:
            # What was answered is in the log's own directory.
            s.kill()
        logs = ["--log", path / "archive", "--log", path / "data/log"]

        def restored(name, *more):
            said = run([BINARY, "restore", "--from", path / "backup", "--data", path / name, *logs, *more])
            print("  " + said.strip())
            again = Server(path / name)
            again.start()
            try:
                sums(again)
                return ledger(again)
            finally:
                again.end()

        chosen = random.randrange(len(commits))
        position, moment, _ = commits[chosen]
        expected = {c[2] for c in commits[: chosen + 1]}
        equal(restored("position", "--until-position", str(position)), expected, "up to a position")
        at = moment.isoformat(sep=" ")
        expected = set()
        for commit in commits:
            if commit[1] > moment:
                break
            expected.add(commit[2])
        equal(restored("moment", "--until", at), expected, "up to a moment")
        equal(restored("all"), everything, "up to the end")
        early = [BINARY, "restore", "--from", path / "backup", "--data", path / "early", *logs, "--until", "2001-01-01"]
        check("later moment" in run(early, expected=4))


@test
def a_log_that_is_not_kept_is_told():
    with directory() as path:
        s = Server(path / "data", "--memory", "64MiB")
        s.start()
        try:
            bank.create(s)
            back_up(s, path / "backup")
        finally:
            s.end()
        wrong = [BINARY, "restore", "--from", path / "backup", "--data", path / "new", "--log", path / "none"]
        check("no segment that is kept" in run(wrong, expected=4))
        wrong = [BINARY, "serve", "--data", path / "x", "--log-archive-size", "1GiB"]
        check("need a log_archive" in run(wrong, expected=2))
