"""Flags, configuration, exit codes, the shell, signals."""

import json
import pathlib
import signal
import socket
import time
import urllib.request

from harness import BINARY, Server, check, directory, equal, free_port, run, server, test


def quintet(*arguments, **more):
    return run([BINARY, *arguments], **more)


@test
def help_names_every_command_and_exit_code():
    out = quintet("--help")
    for word in ("serve", "sql", "bench", "classify", "inspect", "Exit codes"):
        check(word in out, word, "is missing in", out)
    for command in (["serve"], ["sql"], ["bench", "ycsb"], ["bench", "tpcc"], ["bench", "compare"], ["classify"], ["inspect"]):
        out = quintet(*command, "--help")
        check("Examples:" in out, command)
    check(quintet("--version").startswith("quintet "))


@test
def classify_says_which_calls_conflict():
    out = quintet("classify", "--workload", "tpcc")
    for line in (
        "payment x delivery",
        "  payment.in_c_w_id = delivery.in_w_id",
        "The other 11 pairs never conflict.",
    ):
        check(line in out.splitlines(), line, "is missing in", out)
    said = json.loads(quintet("classify", "--workload", "tpcc", "--granularity", "row", "--json"))
    pairs = [pair["procedures"] for pair in said["conflicts"]]
    check(["new_order", "payment"] in pairs, pairs)
    quintet("classify", "--workload", "tpcx", expected=2)
    with directory() as path:
        script = path / "script.sql"
        script.write_text(
            "create table t (id int primary key, v int);\n"
            "create procedure p(a int) language plpgsql as $$ begin update t set v = v + 1 where id = a; end $$;\n"
        )
        out = quintet("classify", script)
        check("  same a" in out.splitlines(), out)
        script.write_text("create procedure p(x text) language plpgsql as $$ begin execute x; end $$;")
        out = quintet("classify", script)
        check("p(text) executes what is planned when it runs: it may touch anything" in out.splitlines(), out)
        check(json.loads(quintet("classify", "--json", script))["anything"] == ["p(text)"], "what is not known")
        script.write_text("create table t (id int")
        check("42601" in quintet("classify", script, expected=1), "a script that is wrong")
        quintet("classify", path / "missing.sql", expected=2)


@test
def wrong_flags_and_files_end_with_2():
    with directory() as path:
        quintet("serve", "--nonsense", expected=2)
        quintet("serve", "--memory", "much", expected=2)
        config = path / "quintet.toml"
        config.write_text('memroy = "1GiB"\n')
        out = quintet("serve", "--data", path / "data", "--config", config, expected=2)
        check('Did you mean "memory"?' in out, out)
        check(not (path / "data").exists(), "a wrong configuration made a directory")
        quintet("serve", "--config", path / "missing.toml", expected=2)


@test
def memory_is_there_from_the_start_if_asked_for_and_what_is_not_there_is_refused():
    with server("--populate-memory", "--memory", "192MiB") as s:
        check("memory is there" in s.tail(), s.tail())
        # In pages of 4 KiB.
        resident = int((pathlib.Path("/proc") / str(s.process.pid) / "statm").read_text().split()[1]) * 4096
        check(resident >= 192 << 20, resident, "bytes are there")
        with s.connect() as client:
            equal(client.execute("select 41 + 1").fetchone(), (42,))
    with directory() as path:
        out = quintet("serve", "--data", path / "data", "--populate-memory", "--memory", "64TiB", expected=2)
        check("less than 64TiB of memory to give" in out, out)
        check(not (path / "data").exists(), "what was refused made a directory")


@test
def the_banner_says_what_a_newcomer_needs():
    with server() as s:
        # It is written when connections are taken already.
        deadline = time.monotonic() + 5
        while "psql -h" not in (out := s.tail()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for word in ("quintet ", str(s.data), f"127.0.0.1:{s.port}", f"psql -h 127.0.0.1 -p {s.port}", "trusted"):
            check(word in out, word, "is missing in", out)
        command = [*next(line for line in out.splitlines() if "psql -h" in line).split()[1:], "-Atc", "select 41 + 1"]
        equal(run(command).strip(), "42")


@test
def environment_file_and_flags_in_their_order():
    with directory() as path:
        config = path / "quintet.toml"
        config.write_text(f'data = "{path}/from-file"\nhttp = "127.0.0.1:{free_port()}"\nlog_format = "json"\n')
        s = Server(path / "data", "--config", str(config), env={"QUINTET_DATA": str(path / "from-environment")})
        try:
            s.start()
            check((path / "data").exists() and not (path / "from-file").exists(), "the flag must win")
            started = [json.loads(line) for line in s.tail().splitlines() if line.startswith("{")]
            check(started, "no JSON log lines in", s.tail())
        finally:
            s.end()


@test
def a_directory_in_use_is_refused_with_3():
    with server() as s:
        for command in (["sql", "-c", "select 1"], ["serve", "--listen", f"127.0.0.1:{free_port()}"], ["inspect"]):
            out = quintet(*command, "--data", s.data, expected=3)
            check("in use" in out, out)


@test
def a_foreign_directory_is_refused_with_4():
    with directory() as path:
        (path / "diary.txt").write_text("mine")
        out = quintet("sql", "--data", path, "-c", "select 1", expected=4)
        equal((path / "diary.txt").read_text(), "mine")
        check("hint" in out, out)
        quintet("inspect", "--data", path, expected=4)


@test
def an_address_taken_ends_with_5():
    with socket.socket() as taken, directory() as path:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        out = quintet("serve", "--data", path / "data", "--listen", address, expected=5, timeout=30)
        check(address in out, out)


@test
def an_open_address_without_users_is_refused():
    with directory() as path:
        out = quintet("serve", "--data", path / "data", "--listen", f"0.0.0.0:{free_port()}", expected=5, timeout=30)
        check("user" in out, out)


@test
def users_must_know_their_password():
    with directory() as path:
        users = path / "users"
        users.write_text("# who\nquintet:right:with:colons\n")
        s = Server(path / "data", "--user-file", str(users))
        try:
            s.start()
            with s.connect(password="right:with:colons") as connection:
                equal(connection.execute("select current_user").fetchone(), ("quintet",))
            import psycopg

            for fields in ({"password": "wrong"}, {"user": "nobody", "password": "right:with:colons"}):
                try:
                    s.connect(**fields)
                    check(False, fields, "was let in")
                except psycopg.OperationalError as error:
                    check("authentication" in str(error), error)
        finally:
            s.end()


@test
def the_shell_runs_scripts_and_stops_at_the_first_error():
    with directory() as path:
        data = ["--data", path / "data"]
        script = path / "script.sql"
        script.write_text(
            "create table t (id int primary key, v text);\n"
            "copy t from stdin;\n1\tone\n2\t\\N\n\\.\n"
            "insert into t values (3, 'semi;colon');\n"
            "select * from t order by id;\n"
        )
        out = quintet("sql", *data, script)
        expected = " id | v\n----+------------\n  1 | one\n  2 |\n  3 | semi;colon\n(3 rows)\n"
        check(out.endswith(expected), out)
        script.write_text("insert into t values (4, 'four');\n\ninsert into t values (4, 'again');\ninsert into t values (5, 'five');")
        out = quintet("sql", *data, script, expected=1)
        check("script.sql:3: ERROR 23505" in out, out)
        out = quintet("sql", *data, "-c", "select count(*) from t; select 'x' as y")
        check(" count\n-------\n     4\n(1 row)\n" in out and "x" in out, out)
        # The statements of -c share a transaction.
        quintet("sql", *data, "-c", "insert into t values (6, 'six'); insert into t values (1, 'one')", expected=1)
        out = quintet("sql", *data, text="select count(*) from t;\n\\q\n", expected=None)
        check("     4\n" in out, out)


@test
def inspect_tells_what_is_there():
    with directory() as path:
        quintet("sql", "--data", path / "data", "-c", "create table ducks (id int)")
        before = sorted((f.name, f.stat().st_mtime_ns) for f in (path / "data").rglob("*"))
        out = quintet("inspect", "--data", path / "data")
        check("to replay" in out and "log" in out, out)
        equal(sorted((f.name, f.stat().st_mtime_ns) for f in (path / "data").rglob("*")), before, "inspect changed files:")
        check("public.ducks" in quintet("inspect", "--data", path / "data", "--tables"))


@test
def bench_reports_json():
    with directory() as path:
        flags = ["--records", 1000, "--seconds", 1, "--warmup", "0.2", "--json"]
        out = quintet("bench", "ycsb", *flags, cwd=path)
        report = json.loads(out.splitlines()[-1])
        check(report["committed_per_second"] > 0, report)
        equal((report["durability"], report["level"], report["records"]), ("sync", "serializable", 1000))
        check(report["syncs_per_second"] > 0 and report["log_bytes_per_second"] > 0, report)
        equal(list(path.iterdir()), [], "the temporary directory is gone:")
        quintet("bench", "ycsb", "--theta", "1.5", cwd=path, expected=2)


@test
def a_run_that_is_ended_by_a_signal_leaves_nothing_behind():
    import subprocess

    runs = (["ycsb", "--records", "200000"], ["hotrow", "--durability", "async"])
    for sent, run_ in zip((signal.SIGINT, signal.SIGTERM), runs):
        with directory() as path:
            command = [BINARY, "bench", *run_, "--seconds", "60"]
            process = subprocess.Popen(command, cwd=path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 30
            while not any(path.glob("quintet-bench-*/log/*")):
                check(process.poll() is None and time.monotonic() < until, run_, "has begun")
                time.sleep(0.05)
            process.send_signal(sent)
            equal(process.wait(timeout=10), 130, run_)
            equal(list(path.iterdir()), [], "the temporary directory is gone:")


@test
def a_run_says_how_it_goes_on_standard_error_alone():
    import os
    import pty
    import subprocess

    flags = ["--mix", "first", "--cold-rows", "1000", "--seconds", "2.5", "--warmup", "0.2", "--json"]
    command = [BINARY, "bench", "hotrow", *flags, "--durability", "async"]
    with directory() as path:
        master, slave = pty.openpty()
        process = subprocess.Popen(command, cwd=path, stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        said = b""
        try:
            while block := os.read(master, 4096):
                said += block
        except OSError:
            pass  # The other side is gone: the program has ended.
        out = process.stdout.read().decode()
        equal(process.wait(), 0, said)
        os.close(master)
        seconds = [part for part in said.decode().split("\r") if "committed/s, p99 " in part and "lost/s" in part]
        check(len(seconds) >= 2, said)
        # The report and nothing else.
        equal(len(out.splitlines()), 1, out)
        check(json.loads(out)["committed_per_second"] > 0, out)


@test
def metrics_and_health():
    with directory() as path:
        port = free_port()
        s = Server(path / "data", "--http", f"127.0.0.1:{port}")
        try:
            s.start()
            with s.connect() as connection:
                connection.execute("select 1")
                get = lambda page: urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10).read().decode()  # noqa: E731
                check("quintet_" in get("/metrics"))
                get("/healthz")
        finally:
            s.end()


@test
def signals_stop_gracefully_and_twice_at_once():
    with server() as s:
        with s.connect() as idle:
            idle.execute("select 1")
            equal(s.stop(), 0)
    with server("--shutdown-grace", "1min") as s:
        with s.connect(autocommit=False) as holder:
            holder.execute("create table t (id int primary key)")
            holder.execute("insert into t values (1)")
            holder.commit()
            busy = s.connect()
            # Keeps a statement running that the first signal waits for.
            cursor = busy.cursor()
            import threading

            def long_statement():
                try:
                    cursor.execute("select count(*) from generate_series(1, 2000000000)")
                except Exception:
                    pass

            thread = threading.Thread(target=long_statement, daemon=True)
            thread.start()
            time.sleep(0.5)
            s.process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            check(s.process.poll() is None, "a running statement was cut off")
            s.process.send_signal(signal.SIGINT)
            equal(s.process.wait(timeout=5), 130)
            thread.join(timeout=5)
