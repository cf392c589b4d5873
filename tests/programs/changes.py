"""Statements that change rows: of tables, partitions and views, by values, queries, conflicts, merges and WITH.

Promises: what a statement leaves does not depend on the order in which it comes to the rows.
"""

from . import kinds
from .queries import Queries


class Changes(Queries):
    def keys(self, table):
        """Some keys of a table as conditions, from what the tables hold."""
        return self.held.get(table.name, [])

    def target(self):
        temporary = [table for table in self.model.of("t") if table.changeable()]
        if temporary and self.chance(0.12):
            return self.dice.choice(temporary)
        tables = [table for table in self.model.stored(roots=False) if table.changeable() and (not table.part or self.chance(0.2))]
        return self.dice.choice(tables or [table for table in self.model.stored(roots=False) if table.changeable()])

    def row_value(self, table, column, scope=(), pure=True):
        """A value for a column: a key that is there for one that refers, most of the time."""
        for columns, other, others in table.references:
            if column in columns and self.chance(0.85):
                held = self.held.get(other)
                place = others[columns.index(column)]
                if held and place in self.model.tables[other].key:
                    return self.dice.choice(held)[place]
        kind = table.columns[column]
        if column in table.key and kind in ("integer", "bigint"):
            return str(self.dice.randint(1, 300))
        if column in table.key and kind == "text":
            return f"'k{self.dice.randint(1, 200)}'"
        if column in table.key and kind == "citext":
            return f"'{self.pick('k', 'K')}{self.dice.randint(1, 200)}'"
        if column in table.key and kind == "numeric":
            return f"{self.dice.randint(1, 300)}{self.pick('', '.5')}"
        if column in table.key and kind == "date":
            return f"date '2024-01-01' + {self.dice.randint(-200, 200)}"
        if column in table.key and kind == "uuid":
            return f"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd38{self.dice.randint(1000, 1300)}'::uuid"
        if column in table.key and kind == "inet":
            return f"'10.0.{self.dice.randint(0, 3)}.{self.dice.randint(0, 99)}'::inet"
        if column in table.fixed or self.chance(0.9):
            return self.typed(kind, list(scope), 1, pure) if self.chance(0.3) else self.dice.choice([text for text in kinds.VALUES[kind] if "null" not in text])
        return "null"

    def row(self, table, columns):
        return "(" + ", ".join("default" if self.chance(0.04) and c not in table.key else self.row_value(table, c) for c in columns) + ")"

    def columns(self, table):
        all_of = table.changeable()
        left = [c for c in all_of if c in table.key or c in table.fixed or self.chance(0.85)]
        self.dice.shuffle(left)
        return left or all_of

    def returning(self, table, part=0.5):
        if not self.chance(part):
            return ""
        scope = [(f"{table.name}.{column}", kind) for column, kind in table.columns.items()]
        return " returning " + self.pick("*", ", ".join(self.items(scope, self.pick(1, 2))), self.dice.choice(scope)[0])

    def conflict(self, table):
        roll = self.dice.random()
        if not table.uniques or roll < 0.5:
            return ""
        columns = self.dice.choice(table.uniques)
        if roll < 0.7:
            return f" on conflict {self.pick('', '(' + ', '.join(columns) + ') ')}do nothing"
        assigned = self.assigned(table, avoid=table.key + columns, scope=[(f"{p}.{c}", k) for p in (table.name, "excluded") for c, k in table.columns.items()])
        if not assigned:
            return ""
        scope = [(f"{p}.{c}", k) for p in (table.name, "excluded") for c, k in table.columns.items()]
        return f" on conflict ({', '.join(columns)}) do update set {assigned}{self.where(scope, 0.4, 1)}"

    def assigned(self, table, avoid, scope):
        unique = {column for columns in table.uniques for column in columns}
        free = [c for c in table.changeable() if c not in avoid and c not in unique]
        if not free:
            return ""
        chosen = self.dice.sample(free, min(len(free), self.pick(1, 1, 2, 3)))
        return ", ".join(f"{c} = {self.pick('default', self.new_value(table, c, scope), self.new_value(table, c, scope), self.new_value(table, c, scope))}" for c in chosen)

    def new_value(self, table, column, scope):
        if any(column in columns for columns, _, _ in table.references):
            return self.row_value(table, column)
        return self.value(table.columns[column], scope, 2)

    def insert(self, table=None):
        table = table or self.target()
        columns = self.columns(table)
        named = ", ".join(columns)
        # Rows of a query come in any order: what they may collide by must be their own.
        own = ("integer", "bigint", "numeric", "text", "citext")
        ordered = table.uniques and not any(table.columns.get(c) in own for c in table.key)
        if ordered or self.chance(0.7):
            rows = ", ".join(self.row(table, columns) for _ in range(self.pick(1, 1, 2, 5, 20)))
            return f"insert into {table.name} ({named}) values {rows}{self.conflict(table)}{self.returning(table)}"
        source = self.dice.choice(self.model.of("r", "p", "v"))
        name = self.name()
        text, scope = self.item(source, name)
        number = f"{self.dice.randint(1, 280)} + row_number() over (order by {', '.join(c for c, _ in scope)})"
        made = []
        for column in columns:
            kind = table.columns[column]
            if column in table.key and kind in ("integer", "bigint", "numeric"):
                made.append(f"({number})::{kind}")
            elif column in table.key and kind in ("text", "citext"):
                made.append(f"'k' || ({number})")
            elif any(column in refer for refer, _, _ in table.references):
                made.append(f"{self.row_value(table, column)}::{kind}")
            else:
                made.append(self.typed(kind, scope, 1))
        conflict = self.conflict(table) if len(table.uniques) < 2 else ""
        return f"insert into {table.name} ({named}) select {', '.join(made)} from {text}{self.where(scope)}{conflict}{self.returning(table)}"

    def one_row(self, table, name):
        """A condition that at most a few rows meet."""
        held = self.keys(table)
        if held:
            row = self.dice.choice(held)
            return " and ".join(f"{name}.{column} = {text}" for column, text in row.items())
        return None

    def update(self, table=None):
        table = table or self.target()
        name = self.pick(table.name, "u")
        alias = "" if name == table.name else " as u"
        scope = [(f"{name}.{c}", k) for c, k in table.columns.items()]
        ending = self.returning(table).replace(f"{table.name}.", f"{name}.") if alias else self.returning(table)
        one = self.one_row(table, name)
        if one and self.chance(0.3):
            chosen = self.dice.sample(table.changeable(), min(len(table.changeable()), self.pick(1, 2)))
            return f"update {table.name}{alias} set {', '.join(f'{c} = {self.row_value(table, c, scope)}' for c in chosen)} where {one}{ending}"
        other = self.dice.choice(self.model.stored())
        if len(other.key) == 1 and self.chance(0.35):
            key = other.key[0]
            fitting = [text for text, kind in scope if kind == other.columns.get(key)]
            if fitting:
                source, more = self.item(other, "f")
                assigned = self.assigned(table, table.key, scope + more)
                if assigned:
                    return f"update {table.name}{alias} set {assigned} from {source} where f.{key} = {self.dice.choice(fitting)}{self.pick('', ' and ' + self.condition(scope + more, 1))}{ending}"
        assigned = self.assigned(table, table.key, scope)
        if not assigned:
            return self.delete(table)
        return f"update {table.name}{alias} set {assigned}{self.where(scope, 0.9)}{ending}"

    def delete(self, table=None):
        table = table or self.target()
        scope = [(f"{table.name}.{c}", k) for c, k in table.columns.items()]
        one = self.one_row(table, table.name)
        if one and self.chance(0.5):
            return f"delete from {table.name} where {one}{self.returning(table)}"
        if self.chance(0.3):
            source, more = self.item(self.dice.choice(self.model.of("r", "p", "v")), "f")
            link = self.joined(scope, more)
            if link != "true":
                return f"delete from {table.name} using {source} where {link} and {self.condition(scope + more, 1)} and {self.condition(scope, 1)}"
        return f"delete from {table.name} where {self.condition(scope, 1)} and {self.condition(scope, 1)}{self.returning(table)}"

    def merge(self):
        tables = [t for t in self.model.stored() if len(t.key) == 1]
        if len(tables) < 2:
            return self.update()
        table, source = self.dice.choice(tables), self.dice.choice(tables)
        kind = table.columns.get(table.key[0])
        if source.columns.get(source.key[0]) != kind or kind is None:
            return self.update()
        scope = [(f"t.{c}", k) for c, k in table.columns.items()]
        more = [(f"s.{c}", k) for c, k in source.columns.items()]
        clauses = []
        for _ in range(self.pick(1, 2)):
            met = f" and {self.condition(scope + more, 0, True)}" if self.chance(0.6) else ""
            assigned = self.assigned(table, table.key, scope + more)
            clauses.append(f"when matched{met} then " + (f"update set {assigned}" if assigned and self.chance(0.7) else self.pick("delete", "do nothing")))
        if self.chance(0.7):
            columns = self.columns(table)
            met = f" and {self.condition(more, 0, True)}" if self.chance(0.4) else ""
            made = [f"s.{source.key[0]}" if c in table.key else self.typed(table.columns[c], more, 1, True) if not any(c in r for r, _, _ in table.references) else self.row_value(table, c) for c in columns]
            clauses.append(f"when not matched{met} then insert ({', '.join(columns)}) values ({', '.join(made)})")
        inner = f"(select * from {source.name}{' where ' + self.condition([(c, k) for c, k in source.columns.items()], 0, True) if self.chance(0.5) else ''})"
        return f"merge into {table.name} t using {inner} s on t.{table.key[0]} = s.{source.key[0]} {' '.join(clauses)}"

    def with_changes(self):
        one, two = self.target(), self.target()
        if one is two or one.name in two.parts or two.name in one.parts or one.part or two.part or one.references or two.references:
            return self.insert()
        first = self.pick(self.update, self.delete, self.insert)(one)
        if " returning " not in first:
            first += " returning *"
        if first.endswith("returning *"):
            kept = self.name()
            new = [(f"{kept}.{c}", k) for c, k in one.columns.items()]
            fitting = [c for c in self.columns(two) if c not in two.key]
            if two.key == [] and fitting:
                made = ", ".join(self.typed(two.columns[c], new, 1, True) for c in fitting)
                return f"with {kept} as ({first}) insert into {two.name} ({', '.join(fitting)}) select {made} from {kept}{self.returning(two)}"
            return f"with {kept} as ({first}) select {', '.join(self.items(new))} from {kept}"
        second = self.pick(self.update, self.delete)(two)
        return f"with {self.name()} as ({first}), {self.name()} as ({second if ' returning ' in second else second + ' returning 1'}) select 1 as done"

    def through_view(self):
        views = self.model.of("v")
        if not views:
            return self.insert()
        view = self.dice.choice(views)
        scope = [(f"{view.name}.{c}", k) for c, k in view.columns.items()]
        roll = self.dice.random()
        if roll < 0.4:
            columns = list(view.columns)
            values = ", ".join(str(self.dice.randint(1, 300)) if k in ("integer", "bigint") and c == "id" else self.constant(k) for c, k in view.columns.items())
            return f"insert into {view.name} ({', '.join(columns)}) values ({values}){self.returning(view, 0.3)}"
        free = [c for c in view.columns if c not in ("id",)]
        if roll < 0.75 and free:
            column = self.dice.choice(free)
            return f"update {view.name} set {column} = {self.value(view.columns[column], scope, 1)}{self.where(scope, 1, 1)}{self.returning(view, 0.3)}"
        return f"delete from {view.name} where {self.condition(scope, 1)} and {self.condition(scope, 0)}{self.returning(view, 0.3)}"

    def change(self):
        roll = self.dice.random()
        if roll < 0.4:
            return self.insert()
        if roll < 0.66:
            return self.update()
        if roll < 0.76:
            return self.delete()
        if roll < 0.85:
            return self.merge()
        if roll < 0.93:
            return self.with_changes()
        return self.through_view()
