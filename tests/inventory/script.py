"""Scripts of what a client sends, message by message.

    # words up to the end of the line
    connect application_name=pgbench       first: what the client says when it connects
    form prepared: P S B D.P E S           a way to send a statement, by a name

    [prepared s1 oids=20,1043]             a statement: its form, with options
    update t set v = $2 where id = $1
    < 7                                    its parameters as text; `< b 00000007` in binary, `< NULL`
    < seven
    > 1<tab>one                            what it is given if it copies: `> a line`, `> x 5047…` bytes, `> fail why`

An empty line ends a statement. Messages of a form: `Q`, `P`, `B`, `D.S` and `D.P`, `E` or `E.5` (at most five rows), `C.S` and `C.P`, `S`,
`H`, as in the protocol; `psql` gives the lines to psql, whose output is the answer; `begin` is P B E of BEGIN without names; What was sent
since the last S, H or Q is answered there. Options: the first word without `=` is the statement's name, `portal=` the portal's;
`oids=` types that the client gives for parameters; `results=b`, or one of `t` and `b` for each column.

Before a statement may stand

    differs WORDS          PostgreSQL answers otherwise, for the reason that docs/compatibility.md has under these words
    refused 0A000 WORDS    Quintet refuses it with this SQLSTATE: docs/compatibility.md lists it under these words
"""

import dataclasses
import re

from harness import run as run_program


@dataclasses.dataclass
class Statement:
    """One of a script."""

    form: list
    sql: str = ""
    name: str = ""
    portal: str = ""
    oids: list = dataclasses.field(default_factory=list)
    results: list = dataclasses.field(default_factory=list)
    parameters: list = dataclasses.field(default_factory=list)
    data: list = dataclasses.field(default_factory=list)
    differs: str = ""
    refused: str = ""

    def title(self):
        return self.sql.split("\n")[0] + (" …" if "\n" in self.sql else "")


@dataclasses.dataclass
class Script:
    startup: dict
    statements: list


def read(source):
    script, forms, said = Script({}, []), {"Q": ["Q"]}, {}
    block = []
    for line in [*source.split("\n"), ""]:
        if line.startswith("# "):
            continue
        word, _, rest = line.partition(" ")
        if block and line:
            block.append(line)
        elif block:
            script.statements.append(statement(block, forms, said))
            block, said = [], {}
        elif line.startswith("["):
            block = [line]
        elif word == "connect":
            script.startup.update(pair.split("=", 1) for pair in re.split(r", (?=\w+=)", rest))
        elif word == "form":
            name, _, messages = rest.partition(": ")
            forms[name] = messages.split()
        elif word in ("differs", "refused"):
            said = {word: rest}
        elif line:
            raise ValueError(f"not understood: {line}")
    return script


def statement(lines, forms, said):
    form, *options = lines[0].strip("[]").split()
    made = Statement(forms[form], **said)
    for option in options:
        key, _, value = option.partition("=")
        if not value:
            made.name = key
        elif key == "oids":
            made.oids = [int(oid) for oid in value.split(",")]
        elif key == "results":
            made.results = [int(letter == "b") for letter in value]
        elif key == "portal":
            made.portal = value
        else:
            raise ValueError(f"no option: {option}")
    made.sql = "\n".join(line for line in lines[1:] if line[:2] not in ("< ", "> "))
    made.parameters = [parameter(line[2:]) for line in lines if line[:2] == "< "]
    made.data = [copied(line[2:]) for line in lines if line[:2] == "> "]
    if made.data and made.data[-1][0] != "f":
        made.data.append(("c",))
    return made


def parameter(text):
    if text == "NULL":
        return (0, None)
    return (1, bytes.fromhex(text[2:])) if text.startswith("b ") else (0, text.encode())


def copied(text):
    if text.startswith("fail "):
        return ("f", text[5:].encode() + b"\0")
    return ("d", bytes.fromhex(text[2:]) if text.startswith("x ") else text.encode() + b"\n")


def run(wire, one):
    """Sends a statement; the lines of its answer, rows in order if it asks for none."""
    if one.form == ["psql"]:
        return psql(wire, one.sql)
    lines = []
    # Between Execute and the end of the data the server passes over a Sync: another one comes behind.
    wire.copy_data = [*one.data, ("S",)] if one.data and one.form != ["Q"] else one.data
    for message in one.form:
        kind, _, more = message.partition(".")
        if kind == "Q":
            wire.query(one.sql)
            lines += wire.answers()
        elif kind == "P":
            wire.parse(one.name, one.sql, one.oids)
        elif kind == "B":
            wire.bind(one.portal, one.name, one.parameters, one.results)
        elif kind in "DC" and more:
            {"D": wire.describe, "C": wire.shut}[kind](more, one.name if more == "S" else one.portal)
        elif kind == "E":
            wire.execute(one.portal, int(more or 0))
        elif kind == "H":
            lines += wire.flush()
        elif kind == "S":
            lines += wire.sync()
        elif kind == "begin":
            wire.parse("", "BEGIN", [])
            wire.bind("", "", [], [])
            wire.execute("", 0)
        else:
            raise ValueError(f"no message: {message}")
    return lines if "order by" in one.sql.lower() else in_order(lines)


def psql(wire, text):
    host, port = wire.address
    command = ["psql", "-X", "-q", "-h", host, "-p", str(port), "-U", wire.startup["user"], "-d", wire.startup["database"]]
    return run_program(command, text=text + "\n").rstrip("\n").split("\n")


def in_order(lines):
    """Rows that stand together, sorted; the protocol promises no order among them."""
    sorted_lines, rows = [], []
    for line in [*lines, ""]:
        if line.startswith("  "):
            rows.append(line)
        else:
            sorted_lines += sorted(rows) + [line]
            rows = []
    return sorted_lines[:-1]
