"""Who comes in: passwords, rules, certificates; each refusal has PostgreSQL's words and is logged and counted."""

import signal
import subprocess
import time
import urllib.request

import psycopg

from harness import Options, Server, check, directory, equal, free_port, server, test

if Options.reference:
    # The door is ours.
    def test(function):  # noqa: F811
        return function


def refused(s, state, words, **how):
    try:
        s.connect(**how).close()
    except psycopg.OperationalError as error:
        check(words in str(error), how, "said", str(error), "not", words)
        return
    raise AssertionError(f"{how} came in, not {state}")


def logged(s, user, reason):
    lines = [line for line in s.log.read_text().splitlines() if "log-in refused" in line]
    check(any(f'user="{user}"' in line and reason in line for line in map(plain, lines)), user, reason, "not in", lines)


def plain(line):
    """Without colours."""
    while "\x1b[" in line:
        before, rest = line.split("\x1b[", 1)
        line = before + rest.split("m", 1)[1]
    return line


@test
def wrong_names_wrong_passwords_and_expired_ones_are_refused_and_logged():
    http = f"127.0.0.1:{free_port()}"
    with server("--http", http) as s:
        wait(lambda: "warning" in s.tail() and "may do everything" in s.tail(), s)
        with s.connect() as admin:
            admin.execute("create role ann login password 'open sesame' connection limit 1")
            # From here on everybody proves who they are.
            admin.execute("alter role quintet password 'top'")
            admin.execute("create role late login password 'old' valid until '2001-01-01'")
            admin.execute("create role team password 'x'")
            admin.execute("create role bare login")
            verifier = admin.execute("select rolpassword from pg_authid where rolname = 'ann'").fetchone()[0]
            check(verifier.startswith("SCRAM-SHA-256$4096:"), verifier)
            # A verifier that was made elsewhere is kept as it is.
            admin.execute(f"create role copy login password '{verifier}'")
        with s.connect(user="ann", password="'open sesame'") as ann:
            equal(ann.execute("select current_user, session_user").fetchone(), ("ann", "ann"))
            refused(s, "53300", 'too many connections for role "ann"', user="ann", password="'open sesame'")
        s.connect(user="copy", password="'open sesame'").close()
        wrong = 'password authentication failed for user "{}"'
        cases = [
            ("ann", "wrong", wrong, "wrong password"),
            ("eve", "x", wrong, "there is no such role"),
            ("late", "old", wrong, "the password has expired"),
            ("bare", "x", wrong, "the role has no password"),
            ("team", "x", 'role "{}" is not permitted to log in', "the role has no LOGIN"),
        ]
        for user, password, words, reason in cases:
            refused(s, "28", words.format(user), user=user, password=password)
            logged(s, user, reason)
        text = s.log.read_text()
        check("sesame" not in text, "a password is in the log")
        page = urllib.request.urlopen(f"http://{http}/metrics").read().decode()
        count = [line for line in page.splitlines() if line.startswith("quintet_authentications_failed_total")]
        equal(count, [f"quintet_authentications_failed_total {len(cases) + 1}"])


@test
def a_configured_user_wins_over_a_role_of_the_same_name():
    with server("--user", "ann:theirs", "--user", "quintet:top") as s:
        with s.connect(password="top") as admin:
            admin.execute("create table t (id int)")
            admin.execute("create role ann login password 'hers'")
        refused(s, "28P01", "password authentication failed", user="ann", password="hers")
        with s.connect(user="ann", password="theirs") as ann:
            ann.execute("select * from t")
            equal(ann.execute("show is_superuser").fetchone(), ("on",))


@test
def roles_and_grants_survive_a_kill():
    with server() as s:
        with s.connect() as admin:
            admin.execute("create table t (id int primary key)")
            admin.execute("create role team")
            admin.execute("create role ann login password 'secret' in role team")
            admin.execute("alter role quintet password 'top'")
            admin.execute("grant select on t to team")
        with s.connect(password="top") as admin:
            admin.execute("create role gone login")
            admin.execute("drop role gone")
            admin.execute("grant create on schema public to ann")
        with s.connect(user="ann", password="secret") as ann:
            ann.execute("create table hers (id int)")
        s.kill()
        s.start()
        # The banner is written a moment after the first connection is taken.
        until = time.monotonic() + 20
        while s.tail(1000).count("  connect ") < 2 and time.monotonic() < until:
            time.sleep(0.01)
        equal(s.tail(1000).count("may do everything"), 1)
        refused(s, "28P01", "password authentication failed", user="ann", password="wrong")
        with s.connect(user="ann", password="secret") as ann:
            ann.execute("select * from t")
            ann.execute("insert into hers values (1)")
            try:
                ann.execute("insert into t values (1)")
                check(False, "what was not granted is there after recovery")
            except psycopg.errors.InsufficientPrivilege:
                pass
            owner = ann.execute("select tableowner from pg_tables where tablename = 'hers'").fetchone()
            equal(owner, ("ann",))


@test
def rules_decide_and_are_read_again_on_sighup():
    with directory() as path:
        rules = path / "hba.conf"
        rules.write_text("host all all all md5\n")
        broken = Server(path / "broken", "--hba", str(rules))
        done = subprocess.run(broken.command(), capture_output=True, text=True, timeout=60)
        equal(done.returncode, 2, done.stderr)
        check("line 1" in done.stderr and "md5" in done.stderr, done.stderr)
        rules.write_text(
            "# type database user address method\n"
            "host all quintet 127.0.0.1/32 trust\n"
            "host shop ann 127.0.0.1 255.255.255.255 scram-sha-256\n"
            "host all eve all reject\n"
        )
        s = Server(path / "data", "--hba", str(rules))
        s.start()
        try:
            with s.connect() as admin:
                for user in ["ann", "eve", "bob"]:
                    admin.execute(f"create role {user} login password '{user}'")
            s.connect(user="ann", password="ann", dbname="shop").close()
            refused(s, "28000", "no pg_hba.conf entry for host", user="ann", password="ann", dbname="other")
            refused(s, "28000", "pg_hba.conf rejects connection for host", user="eve", password="eve")
            logged(s, "eve", "a rule rejects them")
            refused(s, "28000", "no pg_hba.conf entry", user="bob", password="bob")
            rules.write_text("host all all 127.0.0.1/32 scram-sha-256\nnonsense\n")
            s.process.send_signal(signal.SIGHUP)
            wait(lambda: "not read" in s.log.read_text(), s)
            s.connect().close()
            rules.write_text("host all all 127.0.0.1/32 scram-sha-256\n")
            s.process.send_signal(signal.SIGHUP)
            wait(lambda: "read again" in s.log.read_text(), s)
            s.connect(user="bob", password="bob").close()
            refused(s, "28P01", "password authentication failed", password="x")
        finally:
            s.end()


def wait(condition, s):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(s.tail())


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


def certificate(path, name, authority, *validity):
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", f"/O=test/CN={name}", cwd=path)
    (path / f"{name}.ext").write_text("basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key",
            "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.crt", *validity, cwd=path)
    (path / f"{name}.key").chmod(0o600)


@test
def a_certificate_opens_the_door_to_its_own_name_until_it_expires():
    with directory() as path:
        for authority in ["ca", "stranger"]:
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{authority}.key", "-out",
                    f"{authority}.crt", "-days", "2", "-subj", f"/CN={authority}",
                    "-addext", "basicConstraints=critical,CA:TRUE", cwd=path)
        certificate(path, "server", "ca", "-days", "1")
        certificate(path, "ann", "ca", "-days", "1")
        certificate(path, "bob", "stranger", "-days", "1")
        certificate(path, "late", "ca", "-days", "-1")
        rules = path / "hba.conf"
        rules.write_text("hostnossl all quintet all trust\nhostssl all all all cert\n")
        s = Server(
            path / "data", "--hba", str(rules), "--tls-cert", str(path / "server.crt"),
            "--tls-key", str(path / "server.key"), "--tls-client-ca", str(path / "ca.crt"),
        )
        s.start()
        try:
            with s.connect(sslmode="disable") as admin:
                for user in ["ann", "bob", "late"]:
                    admin.execute(f"create role {user} login")

            def shown(name):
                return {"sslmode": "require", "sslcert": path / f"{name}.crt", "sslkey": path / f"{name}.key"}

            with s.connect(user="ann", **shown("ann")) as ann:
                equal(ann.execute("select current_user").fetchone(), ("ann",))
            refused(s, "28000", 'certificate authentication failed for user "bob"', user="bob", **shown("ann"))
            logged(s, "bob", "another common name")
            none = {"sslmode": "require", "sslcert": path / "none", "sslkey": path / "none"}
            refused(s, "28000", "connection requires a valid client certificate", user="ann", **none)
            refused(s, "28000", "expired", user="late", **shown("late"))
            refused(s, "28000", "unknown ca", user="bob", **shown("bob"))
            text = plain(s.log.read_text().replace("\n", "\x1b[m\n"))
            check("no encryption was agreed on" in text and "xpired" in text, s.tail())
            refused(s, "28000", "no pg_hba.conf entry", user="ann", sslmode="disable")
        finally:
            s.end()


@test
def sessions_begin_with_what_is_said_of_their_role_and_the_database():
    with server() as s:
        with s.connect() as admin:
            admin.execute("create role ann login; create role bob login")
            admin.execute("alter database quintet set work_mem = '2MB'; alter role all set lock_timeout = '3s'")
            admin.execute("alter role all set work_mem = '1MB'; alter role ann set timezone = 'Asia/Tokyo'")
            admin.execute("alter role ann set work_mem = '3MB'; alter role ann set default_transaction_isolation = 'serializable'")
            admin.execute("alter role ann in database quintet set work_mem = '4MB'")

        def begins(user, **how):
            shown = ("work_mem", "lock_timeout", "timezone", "transaction_isolation")
            with s.connect(user=user, **how) as c:
                values = [c.execute(f"show {name}").fetchone()[0] for name in shown]
                c.execute("set work_mem = '9MB'; reset work_mem")
                equal(c.execute("show work_mem").fetchone()[0], values[0])
            return values

        equal(begins("ann"), ["4MB", "3s", "Asia/Tokyo", "serializable"])
        equal(begins("bob"), ["2MB", "3s", "UTC", "read committed"])
        equal(begins("ann", options="'-c work_mem=5MB'")[0], "5MB")
        s.stop()
        s.start()
        with s.connect() as admin:
            admin.execute("alter role ann in database quintet reset all; alter database quintet reset work_mem")
            equal(admin.execute("select count(*) from pg_db_role_setting").fetchone(), (2,))
        equal(begins("ann")[0], "3MB")
        equal(begins("bob")[0], "1MB")
