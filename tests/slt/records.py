"""Records of questions and answers in plain files.

    # words up to the end of the line
    statement                   what must work and has no rows
    create table t (a int)

    query 23 25                 numbers of the result's types
    select a, b from t
    ----
    1|one                       a row; NULL is `~`, a line break `\\n`, a bar `\\p`, a backslash `\\\\`

    error 22012                 what must fail, and how
    select 1 / 0

A record ends with an empty line. `known-difference WORDS` before a record says that PostgreSQL
answers otherwise; `docs/compatibility.md` has a line with these words.
"""


class Record:
    def __init__(self, kind, sql, types=(), rows=(), state="", difference=""):
        self.kind = kind
        self.sql = sql
        self.types = list(types)
        self.rows = list(rows)
        self.state = state
        self.difference = difference

    def write(self):
        head = {
            "statement": "statement",
            "query": "query " + " ".join(str(ty) for ty in self.types),
            "error": f"error {self.state}",
        }[self.kind]
        lines = [f"known-difference {self.difference}"] if self.difference else []
        lines += [head, self.sql]
        if self.kind == "query":
            lines += ["----"] + self.rows
        return "\n".join(lines) + "\n\n"

    def answer(self):
        return (self.kind, self.types, self.rows, self.state)


def row_text(row):
    def cell(text):
        if text is None:
            return "~"
        text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("|", "\\p").replace("\r", "\\r")
        return "\\~" if text == "~" else text

    return "|".join(cell(text) for text in row)


def ask(wire, sql, failed):
    """The record of what a server answers. `failed`: the class of its errors."""
    try:
        types, rows = wire.query(sql)
    except failed as error:
        return Record("error", sql, state=error.state)
    if not types:
        return Record("statement", sql)
    return Record("query", sql, types, [row_text(row) for row in rows])


def read(text):
    """The records of a file's text."""
    records, difference = [], ""
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n")]
        while lines and (not lines[0] or lines[0].startswith("# ")):
            lines.pop(0)
        if lines and lines[0].startswith("known-difference "):
            difference = lines.pop(0).split(" ", 1)[1]
        if not lines:
            continue
        kind, *words = lines.pop(0).split()
        if kind == "query":
            at = lines.index("----")
            sql, rows = "\n".join(lines[:at]), lines[at + 1 :]
            if rows and rows[-1] == "" and len(words) != 1:
                rows.pop()
            records.append(Record(kind, sql, [int(word) for word in words], rows, difference=difference))
        else:
            state = words[0] if words else ""
            records.append(Record(kind, "\n".join(lines), state=state, difference=difference))
        difference = ""
    return records
