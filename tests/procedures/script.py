"""Runs a script of SQL statements and writes every answer as text, so that two servers can be compared.

Relies on: psycopg 3; the server named by the connection.  Promises: a statement ends where psql would
end it, plain texts go by the simple protocol, and equal answers are equal texts.  Does not: compare
(answers.py does), or show CONTEXT, positions and places in a source file, which are each server's own.

    > CALL move(1, 2, 30)              the first line of the statement
      NOTICE 00000 moved 30            what was raised before it ended
      a integer | b numeric(8,2)       names and types of the columns, if it gives rows
      70 | NULL                        the rows, as the server wrote them
      CALL                             the tag, or: ERROR 23514 new row for relation ...
      (in a transaction)               or (in a failed transaction), when it is

A text that could be misread (empty, NULL, with a bar or a line's end) is in double quotes.

Comments at the beginning of a line between statements can say how the next one is run:

    -- detail                          show DETAIL and HINT of errors and notices, too
    -- either                          the next two statements give one answer: the first's if it
                                       fails, else the second's. For errors that one server finds
                                       when a procedure is made and the other when it is called.
    -- prepared: CALL p(%s) | 1        a statement of its own: prepared, parameters as text; what is
                                       between the bars are Python's literals
    -- binary: CALL p(%s) | Int4(1)    the same, parameters and results in binary

`\\;` instead of `;` sends a statement in one message with the next, as in psql.
"""

import dataclasses
import datetime
import decimal
import json
import re

import psycopg
from psycopg import postgres, pq
from psycopg.pq import DiagnosticField as Field
from psycopg.types import numeric

# What a literal of a prepared statement may name.
NAMES = {
    "Decimal": decimal.Decimal,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "Int2": numeric.Int2,
    "Int4": numeric.Int4,
    "Int8": numeric.Int8,
}

TOKEN = re.compile(
    r"""  (?P<space>\s+)
        | (?P<comment>--[^\n]*)
        | (?P<block>/\*)
        | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
        | (?P<escape>[eE]'(?:[^'\\]|\\.|'')*')
        | (?P<string>'(?:[^']|'')*')
        | (?P<name>"(?:[^"]|"")*")
        | (?P<word>[A-Za-z_][\w$]*)
        | (?P<together>\\;)
        | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Broken(Exception):
    """The server did not answer: the connection is gone."""


@dataclasses.dataclass
class Step:
    """One statement and how it is run."""

    text: str
    how: str = "plain"
    detail: bool = False
    either: bool = False


def end_of_block_comment(text, at):
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise ValueError("a comment is not closed")


def steps(script):
    """The statements of a script."""
    found, at, begin, said = [], 0, None, {}
    text, words, parens, blocks = "", [], 0, 0

    def end():
        nonlocal text, words, parens, blocks, said
        found.append(Step(text.strip(), **said))
        text, words, parens, blocks, said = "", [], 0, 0, {}

    while at < len(script):
        token = TOKEN.match(script, at)
        kind, end_of_line_before = token.lastgroup, at == 0 or script[at - 1] == "\n"
        begin, at = at, token.end()
        if kind == "block":
            at = end_of_block_comment(script, begin)
        elif kind == "dollar":
            at = script.index(token[0], at) + len(token[0])
        elif kind == "comment" and not text.strip() and end_of_line_before:
            if mark := re.fullmatch(r"-- (detail|either)", token[0]):
                said[mark[1]] = True
            elif mark := re.fullmatch(r"-- (prepared|binary): (.*)", token[0]):
                text, said = mark[2], {**said, "how": mark[1]}
                end()
            continue
        elif kind == "word":
            words.append(token[0].lower())
            if parens == 0 and makes_a_routine(words):
                blocks += {"begin": 1, "case": blocks > 0, "end": -(blocks > 0)}.get(words[-1], 0)
        elif kind == "together":
            text, words = text + ";", []
            continue
        elif token[0] in "()" and kind == "other":
            parens = max(0, parens + (1 if token[0] == "(" else -1))
        elif token[0] == ";" and parens == 0 and blocks == 0:
            end()
            continue
        if text or kind not in ("space", "comment", "block"):
            text += script[begin:at]
    if text.strip():
        raise ValueError(f"no semicolon after: {text.strip()}")
    return found


def makes_a_routine(words):
    """Whether BEGIN … END may follow, in which semicolons do not end the statement."""
    words = words[:1] + words[3:] if words[1:3] == ["or", "replace"] else words
    return words[:2] in (["create", "function"], ["create", "procedure"])


def shown(value):
    """A value of a row, on one line."""
    if value is None:
        return "NULL"
    return json.dumps(value, ensure_ascii=False) if value in ("", "NULL") or re.search(r"[\n|]|^\s|\s$", value) else value


def as_text(value):
    """A value that came in binary, in the words of the text format."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, (list, tuple)):
        left, right = "{}" if isinstance(value, list) else "()"
        return left + ",".join("NULL" if part is None else as_text(part) for part in value) + right
    return str(value)


def type_name(oid, modifier):
    """As `format_type` would say it."""
    info = postgres.types.get(oid)
    if info is None:
        return {2278: "void"}.get(oid, "(a type of its own)")
    name = info.regtype or info.name
    if modifier >= 4:
        if info.name == "numeric":
            name += f"({(modifier - 4) >> 16 & 0xFFFF},{modifier - 4 & 0xFFFF})"
        elif info.name in ("varchar", "bpchar"):
            name += f"({modifier - 4})"
    return name + "[]" if oid == info.array_oid else name


class Runner:
    """Runs steps on one connection and collects the answer."""

    def __init__(self, connection):
        self.connection = connection
        self.pgconn = connection.pgconn
        self.raised = []
        self.lines = []
        self.detail = False
        connection.add_notice_handler(self.notice)

    def run(self, script):
        """The whole answer; it ends early if the server does."""
        answer, waiting = [], iter(steps(script))
        for step in waiting:
            title, second = first_line(step), None
            if step.either:
                second = dataclasses.replace(next(waiting), detail=step.detail)
                title += f" / {first_line(second)}"
            answer.append(f"> {title}")
            try:
                self.step(step)
                if second and not self.failed():
                    self.step(second)
            except Broken as broken:
                return "\n".join([*answer, f"  no answer: {broken}", ""])
            answer += [f"  {line}" for line in self.lines]
        return "\n".join(answer) + "\n"

    def step(self, step):
        self.raised, self.lines, self.detail = [], [], step.detail
        if step.how == "plain":
            self.plain(step.text)
        else:
            self.prepared(step.text, binary=step.how == "binary")
        # Of several results in one message, libpq does not say between which a notice came.
        self.lines = self.raised + self.lines
        status = self.pgconn.transaction_status
        if status != pq.TransactionStatus.IDLE:
            failed = status == pq.TransactionStatus.INERROR
            self.lines.append("(in a failed transaction)" if failed else "(in a transaction)")

    def failed(self):
        return any(line.startswith("ERROR ") for line in self.lines)

    def plain(self, text):
        self.pgconn.send_query(text.encode())
        while (result := self.pgconn.get_result()) is not None:
            self.result(result)
        if self.pgconn.status != pq.ConnStatus.OK:
            raise Broken("\n".join(self.lines))

    def prepared(self, text, binary):
        query, *values = text.split(" | ")
        query = query.replace("%s", "%b" if binary else "%t")
        values = [eval(value, {"__builtins__": {}}, NAMES) for value in values]  # the suite's own text
        cursor = self.connection.cursor(binary=binary)
        try:
            cursor.execute(query, values, prepare=True)
            rows = cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if error.pgresult is None or self.connection.broken:
                raise Broken(error) from error
            self.lines += self.diagnosis(error.diag)
            return
        self.result(cursor.pgresult, [[as_text(value) for value in row] for row in rows] if binary else None)

    def result(self, result, rows=None):
        """Appends one result; `rows` if they are not text as they came."""
        if result.status == pq.ExecStatus.FATAL_ERROR:
            if result.error_field(Field.SQLSTATE) is None:
                raise Broken(result.error_message.decode(errors="replace"))
            self.lines += self.diagnosis(psycopg.errors.Diagnostic(result))
            return
        if result.status == pq.ExecStatus.TUPLES_OK:
            columns = range(result.nfields)
            self.lines.append(" | ".join(
                f"{result.fname(i).decode()} {type_name(result.ftype(i), result.fmod(i))}{' binary' * result.fformat(i)}"
                for i in columns
            ))
            if rows is None:
                text = lambda value: None if value is None else value.decode()  # noqa: E731
                rows = [[text(result.get_value(row, i)) for i in columns] for row in range(result.ntuples)]
            self.lines += [" | ".join(map(shown, row)) for row in rows]
        self.lines.append((result.command_status or b"(no tag)").decode())

    def notice(self, diagnostic):
        self.raised += self.diagnosis(diagnostic)

    def diagnosis(self, diagnostic):
        said = [f"{diagnostic.severity_nonlocalized} {diagnostic.sqlstate} {diagnostic.message_primary}"]
        if self.detail:
            more = {"DETAIL": diagnostic.message_detail, "HINT": diagnostic.message_hint}
            said += [f"{name} {text}" for name, text in more.items() if text is not None]
        # A line of an answer must not look like another's beginning.
        return [text.replace("\n", "\n    ") for text in said]


def first_line(step):
    line, *more = step.text.split("\n")
    return ("" if step.how == "plain" else f"{step.how}: ") + line + (" …" if more else "")
