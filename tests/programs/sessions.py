"""What sessions keep: cursors whose rows are changed, and versions of rows as they were read.

Promises: a cursor's rows come in the order of a key, so both sides stand at the same row.
"""

from .schema import Schema


class Sessions(Schema):
    def session_step(self):
        roll = self.dice.random()
        if self.block and roll < 0.6:
            return self.cursor_step()
        return self.version_step()

    def keyed(self):
        tables = [table for table in self.model.stored() + self.model.of("t") if table.key and all(column in table.columns for column in table.key) and table.changeable()]
        return self.dice.choice(tables) if tables else None

    def cursor_step(self):
        roll = self.dice.random()
        cursors = [(name, self.model.tables[name.split("_of_")[1]]) for name in self.model.cursors if name.split("_of_")[1] in self.model.tables]
        if not cursors or roll < 0.2 and len(cursors) < 3:
            table = self.keyed()
            if not table:
                return []
            name = f"{self.fresh('c')}_of_{table.name}"
            scope = list(table.columns.items())
            one = self.one_row(table, table.name)
            if one and table.form != "p" and self.chance(0.3):
                # Without a lock: a plain scan of one row, of a table that PostgreSQL reads as one.
                return [f"declare {name} cursor for select * from {table.name} where {one}", f"fetch 1 from {name}", *self.at_cursor(name, table)]
            limit = self.where(scope, 0.5, 0)
            return [f"declare {name} cursor for select * from {table.name}{limit} order by {', '.join(table.key)} for {self.pick('update', 'no key update')}", f"fetch {self.pick(1, 2)} from {name}", *self.at_cursor(name, table)]
        name, table = self.dice.choice(cursors)
        if roll < 0.5:
            return [self.pick(f"fetch next from {name}", f"fetch {self.dice.randint(1, 4)} from {name}", f"move {self.dice.randint(1, 2)} in {name}")]
        if roll < 0.55:
            return [f"close {self.pick(name, name, 'all')}"]
        return self.at_cursor(name, table)

    def at_cursor(self, name, table):
        scope = [(f"{table.name}.{c}", k) for c, k in table.columns.items()]
        if self.chance(0.3):
            return [f"delete from {table.name} where current of {name}{self.returning(table, 0.4)}"]
        assigned = self.assigned(table, table.key, scope)
        if not assigned:
            return []
        return [f"update {table.name} set {assigned} where current of {name}{self.returning(table, 0.4)}"]

    def version_step(self):
        """Numbers of versions are each server's own: what a change does by them is the same, but where a row is updated to what it was."""
        seen = self.model.seen()
        if not seen and self.block:
            return self.cursor_step()
        # In a block PostgreSQL's versions of what it changed before and after are one.
        if not self.block and (not seen or self.chance(0.2) and len(seen) < 3):
            table = self.keyed()
            if not table:
                return []
            shown = ", ".join(table.key)
            return [f"create temporary table {self.fresh('seen')}_of_{table.name} as select {shown}, xmin as version, {table.name}::text as was from {table.name}"]
        name, table = self.dice.choice(seen)
        link = " and ".join(f"s.{c} = {table.name}.{c}" for c in table.key)
        scope = [(f"{table.name}.{c}", k) for c, k in table.columns.items()]
        roll = self.dice.random()
        if roll < 0.2:
            return [f"drop table {name}"]
        same = f"({table.name}.xmin = s.version or {table.name}::text = s.was)"
        if self.chance(0.3):
            same = f"{table.name}.xmin <> s.version and {table.name}::text <> s.was"
        if roll < 0.5:
            return [f"select {', '.join(f'{table.name}.{c}' for c in table.key)} from {table.name} join {name} s on {link} where {same}"]
        more = f" and {self.condition(scope, 0)}" if self.chance(0.5) else ""
        own = f" returning {table.name}.{self.dice.choice(table.key)}" if self.chance(0.4) else ""
        assigned = self.assigned(table, table.key, scope)
        if roll < 0.6 or not assigned:
            return [f"delete from {table.name} using {name} s where {link} and {same} and {self.condition(scope, 0)}{own}"]
        return [f"update {table.name} set {assigned} from {name} s where {link} and {same}{more}{own}"]
