"""Quintet and PostgreSQL side by side: one statement to both, answers and states compared.

Promises: `Differs` as soon as they do not say the same; what is refused by name (0A000) is undone on the other side and counted.
Rows are compared as multisets.  Where one of several equal values may be shown (`a` and `A` of citext), their case does not count.
"""

import collections
import re

from slt.wire import Failed, Wire

from .model import SCHEMAS

# What Quintet says of constraints that wait, when the schema changes.
EARLY = ("23503", "P1234")
# So many milliseconds a statement may take.
PATIENCE = 30_000
# What Quintet does not do, by name; nothing is asked of PostgreSQL then.
REFUSALS = ("0A000", "42P17", "55000", "55006")
NAMED = ("cannot be implemented", "does not accept data type")
# What only PostgreSQL refuses: it misses a collation in generated columns of constants, or waits for triggers.
ODD = ("42P22", "55006", "0A000", "55000", "42883")
# Numbers of types from here on are the database's own.
OWN_TYPES = 10_000

SEARCH_PATH = "set search_path = public, aside"

DEFINITIONS = [
    f"select relname, pg_get_viewdef(oid) from pg_class where relkind in ('v', 'm') and relnamespace in {SCHEMAS}",
    f"select c.relname, pg_get_indexdef(c.oid) from pg_class c where relkind in ('i', 'I') and relnamespace in {SCHEMAS}",
    f"select conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated from pg_constraint where connamespace in {SCHEMAS} and contype <> 't' and conparentid = 0",
    "select tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), tgenabled::text from pg_trigger where not tgisinternal and tgparentid = 0 and tgrelid in (select oid from pg_class where relpersistence <> 't')",
    "select table_name, column_name, column_default, is_nullable, data_type, is_generated, generation_expression from information_schema.columns where table_schema in ('public', 'aside')",
    f"select c.relname, pg_get_expr(relpartbound, c.oid), pg_get_partkeydef(c.oid) from pg_class c where relnamespace in {SCHEMAS} and relkind in ('r', 'p')",
]


class Differs(Exception):
    pass


class Slow(Exception):
    """Took longer than anybody waits, or is otherwise of no use: the seed has no more to say."""


def folded(rows):
    """Without what may differ between values that are equal."""
    return collections.Counter(
        tuple(re.sub(r"(\.\d*?)0+(?!\d)", r"\1", cell.lower()).replace(".,", ",").rstrip(".") if cell is not None else None for cell in row) for row in rows
    )


def first(found, expected):
    one, two = collections.Counter(map(tuple, found)), collections.Counter(map(tuple, expected))
    return f"only Quintet: {list((one - two).elements())[:3]}, only PostgreSQL: {list((two - one).elements())[:3]}"


class Side:
    def __init__(self, address, user, database):
        self.wire = Wire(address, user=user, database=database)
        self.wire.socket.settimeout(PATIENCE / 1000 * 4)
        self.wire.query(f"set statement_timeout = {PATIENCE}")
        self.wire.query("set client_min_messages = error")
        self.wire.query(SEARCH_PATH)

    def ask(self, text):
        try:
            types, rows = self.wire.query(text)
            return "", [number if number < OWN_TYPES else 0 for number in types], rows
        except Failed as failed:
            return failed.state, [], [[failed.message]]

    def close(self):
        self.wire.close()


class Sides:
    def __init__(self, quintet, postgres, told=lambda line: None):
        self.quintet, self.postgres, self.told = quintet, postgres, told
        self.counts = collections.Counter()
        self.refused = collections.Counter()
        self.failed = collections.Counter()
        self.soft = []
        self.refusals = []
        self.block = False

    def both(self, text):
        """True if it was done, False if it failed alike, None if it was refused here."""
        self.told(text)
        self.counts["statements"] += 1
        found = self.quintet.ask(text)
        if found[0] in REFUSALS or any(words in str(found[2][:1]) for words in NAMED):
            words = found[2][0][0]
            if found[0] != "0A000":
                self.postgres.ask("savepoint tried" if self.block else "begin")
                words += f" ({self.postgres.ask(text)[0] or 'done'})"
                self.postgres.ask("rollback to savepoint tried" if self.block else "rollback")
            self.refused[words] += 1
            self.refusals.append((words, text))
            return None
        expected = self.postgres.ask(text)
        if "57014" in (found[0], expected[0]):
            raise Slow(f"{'Quintet' if found[0] else 'PostgreSQL'} took too long: {text}")
        if expected[0] == "42804" and re.match("attribute [0-9]+ of type record has wrong type", expected[2][0][0]) and not found[0]:
            raise Slow(f"PostgreSQL misses the type of a generated column: {text}")
        if expected[0] in ODD and expected[0] != found[0]:
            raise Slow(f"PostgreSQL's {expected[0]}: {text}")
        if found[0] or expected[0]:
            self.counts["failed"] += 1
            self.failed[expected[0]] += 1
            if found[0] == expected[0]:
                if found[2] != expected[2]:
                    self.counts["other words"] += 1
                    self.soft.append(f"{text[:300]}\n    {found[2][0][0]}\n    {expected[2][0][0]}")
                return False
            if found[0] and expected[0]:
                # What is looked at first is not the same.
                self.counts["other state"] += 1
                self.soft.append(f"{text[:300]}\n    {found[0]} {found[2][0][0]}\n    {expected[0]} {expected[2][0][0]}")
                return False
            if found[0] in EARLY and text.startswith(("create", "alter", "drop", "truncate")):
                raise Slow(f"a deferred constraint is looked at before the schema changes: {text}")
            raise Differs(f"{text}\nQuintet: {found[0] or 'done'} {found[2][:1]}\nPostgreSQL: {expected[0] or 'done'} {expected[2][:1]}")
        self.compare(text, found, expected)
        return True

    def compare(self, text, found, expected):
        # A value of a domain has the type below, see compatibility.md.
        if any(one != two and two for one, two in zip(found[1], expected[1])):
            raise Differs(f"{text}\ntypes {found[1]} are not {expected[1]}")
        self.counts["rows"] += len(expected[2])
        if collections.Counter(map(tuple, found[2])) == collections.Counter(map(tuple, expected[2])):
            return
        if folded(found[2]) == folded(expected[2]):
            self.counts["equal values"] += 1
            return
        raise Differs(f"{text}\n{first(found[2], expected[2])} of {len(found[2])} and {len(expected[2])} rows")

    def worded(self, questions, said):
        """What may be said in other words, and is shown if it is."""
        for text in questions:
            found, expected = self.quintet.ask(text), self.postgres.ask(text)
            if folded(found[2]) != folded(expected[2]):
                self.counts["other definitions"] += 1
                self.soft.append(f"{said}{first(found[2], expected[2])}")

    def alike(self, questions, said=""):
        for text in questions:
            found, expected = self.quintet.ask(text), self.postgres.ask(text)
            self.counts["questions"] += 1
            if "57014" in (found[0], expected[0]):
                raise Slow(text)
            if found[0] != expected[0]:
                raise Differs(f"{said}{text}\nQuintet: {found[0] or 'done'} {found[2][:1]}\nPostgreSQL: {expected[0] or 'done'} {expected[2][:1]}")
            if not found[0]:
                try:
                    self.compare(text, found, expected)
                except Differs as differs:
                    raise Differs(f"{said}{differs}") from None
