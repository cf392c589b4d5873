"""Takes a file for psql apart into statements.

Promises: statements end where psql ends them, also with quotes, dollar quotes, comments and bodies in SQL; rows that follow
COPY FROM STDIN come with it; `\\set` variables are put in; COPY of a file that lies in a folder becomes one of its rows.
Does not: run any command of psql but `\\c`, which is a statement here.
"""

import pathlib
import re

# Commands that end what stands before them, as a semicolon does.
ENDS = re.compile(r"\\(gset|g|gx|gexec|gdesc|crosstabview|watch)\b")
CONNECTS = re.compile(r"\\(c|connect)\b")
SETS = re.compile(r"\\set\s+(\w+)\s*(.*)")
COPIES_IN = re.compile(r"(?is)^\s*copy\b.*\bfrom\s+stdin\b")
COPIES_FILE = re.compile(r"(?is)^copy\s+(\S+)\s+from\s+'([^']*/data/[^']+)'(.*)$")
VARIABLE = re.compile(r":(?:'(\w+)'|\"(\w+)\"|(\w+))")
DOLLAR = re.compile(r"\$([A-Za-z_][A-Za-z_0-9]*)?\$")


def statements(text, data):
    """Pairs of a statement and the rows for its COPY. `data`: the folder in which files for COPY are looked for."""
    for sql, rows in Splitter(text).run():
        found = COPIES_FILE.match(sql)
        path = found and pathlib.Path(data) / pathlib.Path(found[2]).name
        if path and path.exists():
            yield f"copy {found[1]} from stdin{found[3]}", path.read_bytes()
        else:
            yield sql, rows


class Splitter:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.found = []
        self.variables = {}
        self.begin()

    def begin(self):
        self.statement = ""
        self.brackets = 0
        # Of `BEGIN ATOMIC`: how many ENDs are still to come.
        self.ends = 0

    def run(self):
        while self.at < len(self.text):
            self.step()
        self.end()
        return self.found

    def end(self, rows=b""):
        if self.statement.strip():
            self.found.append((self.statement.strip(), rows))
        self.begin()

    def take(self, end):
        self.statement += self.text[self.at : end]
        self.at = end

    def find(self, what, start):
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found

    def step(self):
        rest = self.text[self.at : self.at + 100]
        dollar = DOLLAR.match(rest)
        variable = VARIABLE.match(rest)
        if rest.startswith("--"):
            self.at = self.find("\n", self.at)
        elif rest.startswith("/*"):
            self.take(self.comment_end())
        elif rest[0] == "'":
            self.take(self.quote_end())
        elif rest[0] == '"':
            self.take(self.find('"', self.at + 1) + 1)
        elif dollar and not re.search(r"[\w$]\Z", self.statement):
            self.take(self.find(dollar[0], self.at + len(dollar[0])) + len(dollar[0]))
        elif rest[0] == "\\":
            self.command()
        elif variable and not self.statement.endswith(":") and self.put_in(variable):
            self.at += len(variable[0])
        elif rest[0].isalpha() and not re.search(r"[\w$]\Z", self.statement):
            self.word(re.match(r"\w+", rest)[0])
        elif rest[0] == ";" and self.brackets <= 0 and not self.ends:
            self.at += 1
            self.end(self.rows())
        else:
            self.brackets += (rest[0] in "([") - (rest[0] in ")]")
            self.take(self.at + 1)

    def comment_end(self):
        depth, at = 1, self.at + 2
        while depth and at < len(self.text):
            pair = self.text[at : at + 2]
            depth += (pair == "/*") - (pair == "*/")
            at += 2 if pair in ("/*", "*/") else 1
        return at

    def quote_end(self):
        escapes = re.search(r"(^|\W)[eE]\Z", self.statement)
        at = self.at + 1
        while at < len(self.text) and self.text[at] != "'" or self.text[at : at + 2] == "''":
            at += 2 if self.text[at : at + 2] == "''" or escapes and self.text[at] == "\\" else 1
        return at + 1

    def command(self):
        if self.text[self.at + 1 : self.at + 2] == ";":
            self.statement += ";"
            self.at += 2
            return
        line = self.text[self.at : self.find("\n", self.at)]
        assigned = SETS.match(line)
        if ENDS.match(line):
            self.end()
        elif CONNECTS.match(line):
            self.end()
            self.found.append(("\\c " + " ".join(line.split()[1:]), b""))
        elif assigned:
            parts = re.findall(r"'((?:[^']|'')*)'|:(\w+)|(\S+)", assigned[2])
            value = [text.replace("''", "'") or self.variables.get(name, "") or word for text, name, word in parts]
            self.variables[assigned[1]] = "".join(value)
        self.at += len(line)

    def put_in(self, variable):
        text, name, plain = variable.groups()
        if plain is not None and plain not in self.variables:
            return False
        value = self.variables.get(text or name or plain, text or name)
        self.statement += f"'{value}'" if text else f'"{value}"' if name else value
        return True

    def word(self, word):
        plain = word.lower()
        if plain == "atomic" and re.search(r"begin\s+\Z", self.statement, re.IGNORECASE):
            self.ends = 1
        elif self.ends:
            self.ends += (plain == "case") - (plain == "end")
        self.take(self.at + len(word))

    def rows(self):
        """What follows COPY FROM STDIN, up to its last line."""
        if not COPIES_IN.match(self.statement):
            return b""
        start = self.find("\n", self.at) + 1
        last = re.search(r"(?m)^\\\.\s*$", self.text[start:])
        if not last:
            return b""
        self.at = start + last.end()
        return self.text[start : start + last.start()].encode()
