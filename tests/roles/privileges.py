"""Who may do what: the same statements by the same roles get PostgreSQL's answers, by every engine.

`cases/NAME.txt` has the statements, `cases/NAME.out` what PostgreSQL 15 answered; `--reference --record roles` asks it again.
"""

import pathlib

import psycopg

from harness import Options, check, equal, server, test

CASES = pathlib.Path(__file__).resolve().parent / "cases"
ENGINES = ["direct", "chain", "queue", "auto"]


def lines(name):
    for line in (CASES / f"{name}.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            role, statement = line.split(": ", 1)
            yield role, statement


class Sessions:
    """A session for each role, all begun by the superuser."""

    def __init__(self, s, engine):
        self.server = s
        self.engine = engine
        self.open = {}

    def of(self, role):
        if role not in self.open:
            connection = self.server.connect()
            if not Options.reference:
                connection.execute(f"set quintet.engine = {self.engine}")
            if role != "quintet":
                connection.execute(f"set session authorization {role}")
            connection.notices = []
            connection.add_notice_handler(
                lambda d, c=connection: c.notices.append(f"{d.severity} {d.sqlstate} {d.message_primary}")
            )
            self.open[role] = connection
        return self.open[role]

    def close(self):
        for connection in self.open.values():
            connection.close()


def answer(connection, statement):
    """What a statement came to, as one line."""
    connection.notices.clear()
    try:
        if statement.startswith("copy"):
            with connection.cursor().copy(statement) as copy:
                said = str(len(list(copy)))
        else:
            cursor = connection.execute(statement)
            rows = [] if cursor.description is None or statement.startswith("explain") else cursor.fetchall()
            said = " ".join([cursor.statusmessage or "", *(repr(row) for row in rows)])
    except psycopg.Error as error:
        said = f"{error.diag.sqlstate} {error.diag.message_primary}"
        if error.diag.message_detail and error.diag.sqlstate == "2BP01":
            said += " | " + " | ".join(sorted(error.diag.message_detail.splitlines()))
    return " / ".join([*connection.notices, said])


def answers(name, engine):
    with server() as s:
        sessions = Sessions(s, engine)
        found = [f"{role}: {statement}\n    {answer(sessions.of(role), statement)}" for role, statement in lines(name)]
        sessions.close()
        return found


def compare(name, engine):
    found = answers(name, engine)
    path = CASES / f"{name}.out"
    if Options.reference and Options.record:
        path.write_text("\n".join(found) + "\n")
        return
    said = path.read_text().rstrip("\n").split("\n")
    expected = ["\n".join(said[at : at + 2]) for at in range(0, len(said), 2)]
    wrong = [(f, e) for f, e in zip(found, expected, strict=True) if f != e]
    for f, e in wrong:
        print(f"  {f}\n  PostgreSQL:{e.split(chr(10))[1]}")
    check(not wrong, len(wrong), "answers of", len(found), "differ, engine", engine)


@test
def privileges_are_refused_and_granted_as_by_postgresql():
    for engine in ENGINES[:1] if Options.reference else ENGINES:
        compare("privileges", engine)


@test
def what_privileges_there_are_is_said_as_by_postgresql():
    compare("inquiries", ENGINES[0])


@test
def a_revoke_is_in_force_for_the_next_statement_of_a_session_that_runs():
    with server() as s, s.connect() as admin:
        admin.execute("create table t (id int primary key)")
        admin.execute("create procedure put(i int) language sql as 'insert into t values (i)'")
        admin.execute("create role ann login")
        admin.execute("grant select, insert on t to ann")
        for number, engine in enumerate(ENGINES[:1] if Options.reference else ENGINES):
            with s.connect(user="ann") as ann:
                if not Options.reference:
                    ann.execute(f"set quintet.engine = {engine}")
                for again in range(3):
                    ann.execute("select count(*) from t", prepare=True)
                    ann.execute("call put(%s)", [number * 10 + again], prepare=True)
                admin.execute("revoke select, insert on t from ann")
                for statement in ["select count(*) from t", "call put(99)"]:
                    try:
                        ann.execute(statement, prepare=True)
                        check(False, statement, "was let through, engine", engine)
                    except psycopg.errors.InsufficientPrivilege as error:
                        equal(error.diag.message_primary, "permission denied for table t", engine)
                admin.execute("grant select, insert on t to ann")
                ann.execute("call put(%s)", [number * 10 + 5], prepare=True)
