"""Records of questions and answers in plain files.

    # words up to the end of the line
    statement                   what must work and has no rows
    create table t (a int)

    query 23 25                 numbers of the result's types; 16384 for all that users made
    select a, b from t
    ----
    1|one                       a row; NULL is `~`, no text `\\e`, a line break `\\n`, a bar `\\p`, a backslash `\\\\`

    error 22012                 what must fail, and how
    select 1 / 0

A record ends with an empty line. What fits on one is written so, with tabs: `23,25 <tab> 1|one <tab> select a, b from t`, or
`!22012 <tab> <tab> select 1 / 0`. `known-difference WORDS` before a record says that PostgreSQL
answers otherwise; `docs/compatibility.md` has a line with these words.
"""


FIRST_OF_USERS = 16384


class Record:
    def __init__(self, kind, sql, types=(), rows=(), state="", difference=""):
        self.kind = kind
        self.sql = sql
        self.types = list(types)
        self.rows = list(rows)
        self.state = state
        self.difference = difference

    def write(self):
        short = not self.difference and "\n" not in self.sql + "".join(self.rows) and "\t" not in self.sql
        if short and self.kind == "error":
            return f"!{self.state}\t\t{self.sql}\n"
        if short and self.kind == "query" and len(self.rows) == 1 and "\t" not in self.rows[0]:
            return f"{','.join(str(ty) for ty in self.types)}\t{self.rows[0]}\t{self.sql}\n"
        head = {
            "statement": "statement",
            "query": "query " + " ".join(str(ty) for ty in self.types),
            "error": f"error {self.state}",
        }[self.kind]
        lines = [f"known-difference {self.difference}"] if self.difference else []
        lines += [head, self.sql]
        if self.kind == "query":
            lines += ["----"] + self.rows
        return "\n" + "\n".join(lines) + "\n\n"

    def answer(self):
        return (self.kind, self.types, self.rows, self.state)


def row_text(row):
    def cell(text):
        if text is None:
            return "~"
        text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("|", "\\p").replace("\r", "\\r")
        return {"~": "\\~", "": "\\e"}.get(text, text)

    return "|".join(cell(text) for text in row)


def ask(wire, sql, failed):
    """The record of what a server answers. `failed`: the class of its errors."""
    try:
        types, rows = wire.query(sql)
    except failed as error:
        return Record("error", sql, state=error.state)
    # Numbers of types that users made tell what was made before them.
    types = [min(ty, FIRST_OF_USERS) for ty in types]
    if not types:
        return Record("statement", sql)
    return Record("query", sql, types, [row_text(row) for row in rows])


def read(text):
    """The records of a file's text."""
    records, difference = [], ""
    for block in text.split("\n\n"):
        lines = block.split("\n")
        while lines and (not lines[0] or lines[0].startswith("# ") or "\t" in lines[0]):
            line = lines.pop(0)
            if "\t" in line:
                head, answer, sql = line.split("\t")
                if head.startswith("!"):
                    records.append(Record("error", sql, state=head[1:]))
                else:
                    records.append(Record("query", sql, [int(ty) for ty in head.split(",")], [answer]))
        if lines and lines[0].startswith("known-difference "):
            difference = lines.pop(0).split(" ", 1)[1]
        if not lines:
            continue
        kind, *words = lines.pop(0).split()
        if kind == "query":
            at = lines.index("----")
            sql, rows = "\n".join(lines[:at]), [line for line in lines[at + 1 :] if line]
            records.append(Record(kind, sql, [int(word) for word in words], rows, difference=difference))
        else:
            state = words[0] if words else ""
            records.append(Record(kind, "\n".join(lines), state=state, difference=difference))
        difference = ""
    return records
