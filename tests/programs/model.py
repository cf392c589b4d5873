"""What is in the database now, as PostgreSQL's catalogue says: what statements can be made of.

Promises: names, columns with the kind of `kinds.VALUES` that they have, keys and references, of the schemas
of `SCHEMAS` and of temporary tables (their form is `t`).  Does not: see other schemas, or columns of kinds that nobody knows values of.
"""

import re

from . import kinds

# Both are on the path, and no name is in both.
SCHEMAS = "('public'::regnamespace, 'aside'::regnamespace)"
HERE = SCHEMAS[:-1] + ", pg_my_temp_schema()::regnamespace)"

COLUMNS = f"""
select c.relname, case when c.relpersistence = 't' then 't' else c.relkind::text end, c.relispartition, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> '', a.attidentity <> ''
from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace in {HERE} and c.relkind in ('r', 'p', 'v', 'm') order by c.oid, a.attnum"""
CONSTRAINTS = f"""
select conrelid::regclass::text, conname, contype::text, confrelid::regclass::text, array_to_string(conkey, ','), array_to_string(confkey, ','), condeferrable,
    array(select attname from unnest(conkey) with ordinality k(n, o) join pg_attribute on attrelid = conrelid and attnum = k.n order by o)::text,
    array(select attname from unnest(confkey) with ordinality k(n, o) join pg_attribute on attrelid = confrelid and attnum = k.n order by o)::text
from pg_constraint where connamespace in {HERE} and conrelid <> 0 and contype <> 't' order by oid"""
INDEXES = f"""
select i.indrelid::regclass::text, c.relname, pg_get_indexdef(c.oid), i.indisunique, i.indisprimary, i.indpred is not null, i.indexprs is not null, i.indimmediate,
    array(select attname from unnest(i.indkey::int[]) with ordinality k(n, o) join pg_attribute on attrelid = indrelid and attnum = k.n order by o)::text
from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace in {HERE} and not c.relispartition order by c.oid"""
TRIGGERS = "select tgrelid::regclass::text, tgname, tgtype & 1 = 1 from pg_trigger where not tgisinternal and tgparentid = 0 order by oid"
PARTS = """
select inhparent::regclass::text, inhrelid::regclass::text from pg_inherits join pg_class c on c.oid = inhrelid where c.relkind in ('r', 'p') order by inhrelid"""

# Only functions that programs make: f and a number.
FUNCTIONS = """
select p.proname, format_type(p.proargtypes[0], null), format_type(p.prorettype, null)
from pg_proc p where p.proname ~ '^f[0-9]+$' order by p.oid"""
CURSORS = "select name from pg_cursors where name ~ '^c[0-9]+_of_' order by name"


def kind_of(declared):
    """`numeric(8,2)` is a numeric."""
    array = declared.endswith("[]")
    kind = re.sub(r"\(\d+(,\d+)?\)", "", declared.removesuffix("[]")) + ("[]" if array else "")
    return kind if kind in kinds.VALUES else None


def names(text):
    """Of a text like `{a,b}`; no name here needs quotes."""
    return [name for name in text.strip("{}").split(",") if name]


class Table:
    def __init__(self, name, form, part):
        self.name, self.form, self.part = name, form, part
        self.columns = {}
        self.fixed, self.filled = set(), set()
        self.key, self.uniques, self.references, self.constraints = [], [], [], []
        self.indexes, self.triggers, self.parts = [], [], []
        # Has a trigger that fires for statements: an action of a key is several of them here.
        self.for_statements = False

    def changeable(self):
        return [name for name in self.columns if name not in self.filled]


class Model:
    def __init__(self, wire):
        self.tables = {}
        for name, form, part, column, declared, fixed, generated, identity in wire.query(COLUMNS)[1]:
            table = self.tables.setdefault(name, Table(name, form, part == "t"))
            if column is None or kind_of(declared) is None:
                continue
            table.columns[column] = kind_of(declared)
            if fixed == "t":
                table.fixed.add(column)
            if generated == "t" or identity == "t":
                table.filled.add(column)
        for name, constraint, form, other, _, _, late, columns, others in wire.query(CONSTRAINTS)[1]:
            table = self.tables[name]
            table.constraints.append((constraint, form))
            if form == "p":
                table.key = names(columns)
            elif form == "f" and other in self.tables:
                table.references.append((names(columns), other, names(others)))
            if form in "pu" and late == "f":
                table.uniques.append(names(columns))
        for name, index, text, unique, primary, part, expressions, now, columns in wire.query(INDEXES)[1]:
            table = self.tables[name]
            owned = any(index == constraint for constraint, _ in table.constraints)
            table.indexes.append((index, owned))
            if unique == "t" and not owned and part == "f" and expressions == "f" and now == "t":
                table.uniques.append(names(columns))
        for name, trigger, row in wire.query(TRIGGERS)[1]:
            if name in self.tables:
                self.tables[name].triggers.append(trigger)
                self.tables[name].for_statements |= row == "f"
        for name, part in wire.query(PARTS)[1]:
            self.tables[name].parts.append(part)
        self.functions = [tuple(row) for row in wire.query(FUNCTIONS)[1]]
        self.cursors = [row[0] for row in wire.query(CURSORS)[1]]

    def of(self, *forms):
        return [table for table in self.tables.values() if table.form in forms and table.columns and not table.name.startswith(("log_", "seen"))]

    def seen(self):
        """Tables of what rows were when they were read, and the tables that had them."""
        made = [(name, name.split("_of_")[1]) for name in self.tables if name.startswith("seen")]
        return [(name, self.tables[of]) for name, of in made if of in self.tables]

    def stored(self, roots=True):
        return [table for table in self.of("r", "p") if not (roots and table.part)]
