"""Blocks of PL/pgSQL, what another role may see, cursors that outlive their transaction, and types that change.

Relies on: the role of `ROLE`, which all programs share.  Promises: a block's handlers take any error, for which of several
is found first is not the same everywhere.
"""

from .sessions import Sessions

ROLE = "program_reader"
GRANT = f"grant all on all tables in schema public, aside to {ROLE}"


class Blocks(Sessions):
    def plain_change(self):
        """A change that gives no rows."""
        for _ in range(20):
            text = self.change()
            # Of what is wrong with a MERGE in a block PostgreSQL says nothing before it comes there.
            if text.startswith(("insert", "update", "delete", "merge")) and " returning " not in text and " when matched" not in text.partition("when matched then")[2]:
                return text
        return "update log_counts set old = old where false"

    def counted(self, change, place):
        return f"{change}; get diagnostics do_n = row_count; insert into log_counts values ('do', '{place}', do_n, null);"

    def block_part(self, depth=1):
        roll = self.dice.random()
        change = self.plain_change()
        if roll < 0.35 and depth:
            inside = " ".join(self.block_part(depth - 1) for _ in range(self.pick(1, 2)))
            more = self.pick("", "", " if do_n > 0 then raise exception 'enough'; end if;", " perform 1 / (do_n % 2);")
            after = self.pick("", f" {self.plain_change()};")
            return f"begin {inside}{more} exception when others then insert into log_rows values ('do', 'failed', do_n::text, null);{after} end;"
        if roll < 0.55:
            table = self.keyed()
            if table:
                key = ", ".join(table.key)
                # A record has one shape here.
                row = self.row_variable()
                each = self.pick("do_n := do_n + 1; continue when do_n % 2 = 0;", "do_n := do_n + 1; exit when do_n > 4;", "")
                return f"do_n := 0; for {row} in select * from {table.name} order by {key} loop {each} insert into log_rows values ('do', 'each', shown({row}::text), null); end loop;"
        if roll < 0.65:
            table = self.keyed()
            if table:
                row = self.row_variable()
                return f"open do_c for select {', '.join(table.key)} from {table.name} order by {', '.join(table.key)}; {change}; fetch do_c into {row}; if found then insert into log_rows values ('do', 'first', {row}::text, null); end if; close do_c;"
        return self.counted(change, "change")

    def row_variable(self):
        self.rows_of_block += 1
        return f"do_r{self.rows_of_block}"

    def do_block(self):
        self.rows_of_block = 0
        parts = " ".join(self.block_part() for _ in range(self.pick(1, 1, 2, 3)))
        rows = "".join(f"do_r{n + 1} record; " for n in range(self.rows_of_block))
        return [f"do $do$ declare do_n bigint := 0; {rows}do_c refcursor; begin {parts} end $do$"]

    def as_reader(self):
        """What a role with rights does that policies concern."""
        told = [self.pick(self.query, self.query, self.change)() for _ in range(self.pick(1, 2))]
        return [GRANT, f"set role {ROLE}", *told, "reset role"]

    def policy(self):
        table = self.dice.choice(self.model.stored())
        scope = list(table.columns.items())
        roll = self.dice.random()
        if roll < 0.3 or not scope:
            return [f"alter table {table.name} {self.pick('enable', 'enable', 'enable', 'disable', 'force')} row level security"]
        what = self.pick("", "", "for select ", "for update ", "for delete ", "for insert ")
        kind = self.pick("", "", "", "as restrictive ")
        using = "" if "insert" in what else f" using ({self.condition(scope, 1, True)})"
        check = f" with check ({self.condition(scope, 1, True)})" if "insert" in what or not ("select" in what or "delete" in what) and self.chance(0.4) else ""
        return [f"alter table {table.name} enable row level security", f"create policy {self.fresh('y')} on {table.name} {kind}{what}to {ROLE}{using}{check}"]

    def held_cursor(self):
        """Declared WITH HOLD, and read whenever."""
        if self.holds and self.chance(0.7):
            name = self.dice.choice(self.holds)
            if self.chance(0.2):
                self.holds.remove(name)
                return [f"close {name}"]
            return [self.pick(f"fetch 2 from {name}", f"fetch next from {name}", f"fetch all from {name}", f"move 1 in {name}")]
        table = self.keyed()
        if not table:
            return []
        name = self.fresh("h")
        self.holds.append(name)
        where = self.where(list(table.columns.items()), 0.5, 1)
        return [f"declare {name} cursor with hold for select * from {table.name}{where} order by {', '.join(table.key)}", f"fetch 1 from {name}"]

    def type_change(self):
        roll = self.dice.random()
        if roll < 0.4:
            place = self.pick("", " before 'ok'", " after 'sad'")
            return [f"alter type mood add value '{self.fresh('mood')}'{place}"]
        name = self.fresh("positive")
        if roll < 0.7:
            return [f"alter domain positive add constraint {name} check (value {self.pick('< 1000000', '<> 77', '> -5')}){self.pick('', '', ' not valid')}", f"alter domain positive drop constraint {name}"]
        return [f"alter domain word {self.pick('set default', 'set default', 'drop default')}".replace("set default", f"set default '{self.pick('w', 'Word', '')}'")]

    def extra_step(self):
        roll = self.dice.random()
        if roll < 0.5:
            return self.do_block()
        if roll < 0.7:
            return self.held_cursor()
        if roll < 0.85:
            return self.as_reader()
        if self.block:
            return self.do_block()
        return self.pick(self.policy, self.policy, self.type_change)()
