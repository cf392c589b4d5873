"""Statements that change the schema, also of tables with rows.

Relies on: names of tables begin with t, of logs with log_, of views with v.
"""

from . import kinds
from .changes import Changes

LOGS = [
    "create table log_rows (place text, op text, old text, new text)",
    "create table log_counts (place text, op text, old bigint, new bigint)",
    # A row that is a variable and whose fields are all NULL is NULL, see sql.md.
    """create function shown(t text) returns text language sql immutable as $$ select nullif(regexp_replace(left(t, 60), '^[(],*[)]$', ''), '') $$""",
    """create function log_row() returns trigger language plpgsql as $$ begin
        insert into log_rows values (tg_argv[0], tg_op || ' ' || tg_when, case when tg_op <> 'INSERT' then shown(old::text) end, case when tg_op <> 'DELETE' then shown(new::text) end);
        if tg_op = 'DELETE' then return old; end if; return new; end $$""",
    """create function log_new() returns trigger language plpgsql as $$ begin
        insert into log_counts select tg_argv[0], tg_op, null, count(*) from added; return null; end $$""",
    """create function log_old() returns trigger language plpgsql as $$ begin
        insert into log_counts select tg_argv[0], tg_op, count(*), null from gone; return null; end $$""",
    """create function log_both() returns trigger language plpgsql as $$ begin
        insert into log_counts select tg_argv[0], tg_op, (select count(*) from gone), count(*) from added; return null; end $$""",
    """create function skip_some() returns trigger language plpgsql as $$ begin
        if tg_op = 'DELETE' then if length(old::text) % 11 = 0 then return null; end if; return old; end if;
        if length(new::text) % 13 = 0 then return null; end if; return new; end $$""",
    """create function refuse_some() returns trigger language plpgsql as $$ begin
        if tg_op <> 'DELETE' and length(new::text) % 17 = 0 then raise exception 'refused %', tg_argv[0] using errcode = 'P1234'; end if; return null; end $$""",
    """create procedure shift(k int, n int) language plpgsql as $$ declare r record; begin
        for r in select place, count(*) as c from log_rows group by place order by place loop
            begin insert into log_counts values (r.place, 'shift', k, r.c / nullif(n, 0)); exception when division_by_zero then insert into log_counts values (r.place, 'zero', k, null); end;
        end loop; end $$""",
]


# Takes, gives, and how.
BODIES = [
    ("integer", "integer", "coalesce(a, 0) % 7 + 1"),
    ("integer", "text", "'n' || coalesce(a, 0) % 50"),
    ("text", "integer", "length(coalesce(a, ''))"),
    ("text", "text", "left(a, 3) || '-'"),
    ("text", "boolean", "a like '%a%'"),
    ("integer", "boolean", "a > 3"),
    ("date", "integer", "extract(month from a)::int"),
    ("jsonb", "text", "left(a ->> 'a', 9)"),
]


class Schema(Changes):
    def declared(self, kind):
        return self.dice.choice(kinds.DECLARED.get(kind, [kind]))

    def fresh(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def kind(self):
        return self.dice.choice(list(kinds.VALUES) + ["integer", "text", "integer", "text", "jsonb", "citext", "date"])

    def literal(self, kind):
        return self.dice.choice([text for text in kinds.VALUES[kind] if "null" not in text])

    def create_table(self):
        name = self.fresh("t")
        scope, lines, key = [], [], []
        partitioned = self.chance(0.2)
        with_key = self.chance(0.85)
        key_kind = self.dice.choice(kinds.KEYS)
        if with_key:
            key = ["id"] + (["nr"] if self.chance(0.2) or partitioned else [])
            for column in key:
                kind = key_kind if column == "id" else self.pick("integer", "integer", "text", "date")
                lines.append(f"{column} {self.declared(kind)}")
                scope.append((column, kind))
        else:
            lines.append("nr integer")
            scope.append(("nr", "integer"))
        referred = []
        for number in range(self.dice.randint(1, 6)):
            kind = self.kind()
            column = f"c{number}"
            text = f"{column} {self.declared(kind)}"
            roll = self.dice.random()
            # Of two keys to one table, whose actions differ, it matters which row goes first.
            parents = [table for table in self.model.stored() if len(table.key) == 1 and table.columns.get(table.key[0]) and not any(f"references {table.name}" in line for line in lines)]
            if roll < 0.2 and parents:
                parent = self.dice.choice(parents)
                kind = parent.columns[parent.key[0]]
                default = f" default {self.literal(kind)}" if self.chance(0.3) else ""
                text = f"{column} {kind}{default} references {parent.name}{self.actions(kind)}"
                referred.append(column)
            elif roll < 0.26 and len(key) == 1 and not partitioned and not any(f"references {name}" in line for line in lines):
                kind = key_kind
                text = f"{column} {self.declared(kind)} references {name}{self.actions(kind)}"
                referred.append(column)
            elif roll < 0.32:
                plain = [pair for pair in scope]
                text = f"{column} {self.declared(kind)} generated always as ({self.value(kind, plain, 2, True)}) stored"
            elif roll < 0.5:
                text += f" default {self.value(kind, [], 1, True)}"
            elif roll < 0.56:
                text += f" not null default {self.literal(kind)}"
            lines.append(text)
            if "generated" not in text:
                scope.append((column, kind))
        if key:
            lines.append(f"primary key ({', '.join(key)})")
        if self.chance(0.35):
            lines.append(f"constraint {name}_check check ({self.condition(scope, 1, True)} or {self.condition(scope, 1, True)} or {scope[0][0]} is not null)")
        if self.chance(0.25) and not partitioned:
            one = self.dice.choice(scope)[0]
            if scope[0][0] != one:
                lines.append(f"unique {self.pick('', '', 'nulls not distinct ')}({one}, {scope[0][0]}){self.pick('', '', ' deferrable', ' deferrable initially deferred')}")
        text = f"create table {name} ({', '.join(lines)})"
        if not partitioned:
            return [text]
        return [f"{text} partition by {self.partitions(name, scope, key)}", *self.parts]

    def partitions(self, name, scope, key):
        fitting = [(c, k) for c, k in scope if (not key or c in key)]
        column, kind = self.dice.choice(fitting)
        self.parts = []
        if kind == "integer" and self.chance(0.7):
            self.parts = [f"create table {name}_a partition of {name} for values from (minvalue) to (5)", f"create table {name}_b partition of {name} for values from (5) to (90)"]
            if self.chance(0.6):
                self.parts.append(f"create table {name}_d partition of {name} default")
            else:
                self.parts.append(f"create table {name}_d partition of {name} for values from (90) to (maxvalue) partition by hash ({column})")
                self.parts += [f"create table {name}_d{n} partition of {name}_d for values with (modulus 2, remainder {n})" for n in (0, 1)]
            return f"range ({column})"
        if kind == "text" and self.chance(0.5):
            self.parts = [f"create table {name}_a partition of {name} for values in ('a', 'k1', 'k2', null)", f"create table {name}_d partition of {name} default"]
            if key:
                self.parts[0] = self.parts[0].replace(", null", "")
            return f"list ({column})"
        self.parts = [f"create table {name}_{n} partition of {name} for values with (modulus 3, remainder {n})" for n in range(3)]
        return f"hash ({column})"

    def actions(self, kind):
        ways = ["", "", " on delete cascade", " on delete set null", " on delete restrict", " on update cascade", " on delete cascade on update cascade", " on delete set null on update set null", " on delete no action on update restrict", " on delete set default", " on delete set default on update set default", " on delete restrict on update cascade"]
        return self.dice.choice(ways) + self.pick("", "", "", " deferrable", " deferrable initially deferred")

    def create_index(self):
        table = self.dice.choice(self.model.stored() + self.model.of("m"))
        name = self.fresh("i")
        columns = list(table.columns.items())
        scope = columns
        roll = self.dice.random()
        inverted = [(c, k) for c, k in columns if k in kinds.INVERTED]
        if roll < 0.35 and inverted:
            chosen = self.dice.sample(inverted, min(len(inverted), self.pick(1, 1, 2)))
            parts = ", ".join(f"{c} {self.dice.choice(kinds.INVERTED[k])}" for c, k in chosen)
            return f"create index {name} on {table.name} using gin ({parts}){self.predicate(scope, 0.2)}"
        if roll < 0.4:
            texts = [c for c, k in columns if k in ("text", "word")]
            if texts:
                return f"create index {name} on {table.name} using gist ({self.dice.choice(texts)} gist_trgm_ops)"
            ranges = [c for c, k in columns if k.endswith("range")]
            if ranges:
                return f"create index {name} on {table.name} using gist ({self.dice.choice(ranges)})"
        parts = []
        for _ in range(self.pick(1, 1, 2, 3)):
            if self.chance(0.7):
                column = self.dice.choice(columns)[0]
                if any(part.split()[0] == column for part in parts):
                    continue
                parts.append(column + self.pick("", "", " desc", " nulls first", " desc nulls last"))
            else:
                parts.append(f"({self.typed(self.dice.choice(['integer', 'text', 'citext', 'boolean', 'jsonb', 'date', 'integer[]', 'numeric']), scope, 1, True)})")
        unique = "unique " if table.form != "m" and self.chance(0.12) else ""
        extra = " nulls not distinct" if unique and self.chance(0.3) else ""
        return f"create {unique}index {name} on {table.name} {self.pick('', '', '', 'using btree ')}({', '.join(parts)}){extra}{self.predicate(scope, 0.25)}"

    def predicate(self, scope, part):
        return f" where {self.condition(scope, 1, True)}" if self.chance(part) else ""

    def create_trigger(self):
        name = self.fresh("g")
        views = [v for v in self.model.of("v") if self.chance(0.1)]
        if views and not any(view.triggers for view in views):
            return f"create trigger {name} instead of insert or update or delete on {views[0].name} for each row execute function log_row('{views[0].name}')"
        table = self.dice.choice(self.model.of("t") if self.model.of("t") and self.chance(0.25) else self.model.stored())
        free = table.changeable()
        event = self.pick("insert", "update", "delete", "insert or update", "insert or update or delete", f"update of {self.dice.choice(free)}" if free else "update")
        roll = self.dice.random()
        # What a key brings about fires triggers of statements for each row here.
        if roll < 0.25 and "or" not in event and " of " not in event and not table.references:
            tables = {"insert": ("new table as added", "log_new"), "delete": ("old table as gone", "log_old"), "update": ("old table as gone new table as added", "log_both")}
            return f"create trigger {name} after {event} on {table.name} referencing {tables[event][0]} for each statement execute function {tables[event][1]}('{table.name}')"
        if roll < 0.4:
            return f"create constraint trigger {name} after {event} on {table.name} {self.pick('', 'deferrable ', 'deferrable initially deferred ')}for each row execute function {self.pick('log_row', 'log_row', 'refuse_some')}('{table.name}')"
        when = ""
        if self.chance(0.4) and "delete" not in event and table.columns:
            when = f" when ({self.condition([(f'new.{c}', k) for c, k in table.columns.items() if c not in table.filled], 0, True)})" if free else ""
        if roll < 0.6:
            return f"create trigger {name} before {event} on {table.name} for each row{when} execute function {self.pick('skip_some', 'log_row')}('{table.name}')"
        return f"create trigger {name} after {event} on {table.name} for each row{when} execute function {self.pick('log_row', 'log_row', 'refuse_some')}('{table.name}')"

    def create_view(self):
        name = self.fresh("v")
        roll = self.dice.random()
        if roll < 0.5:
            table = self.dice.choice(self.model.stored())
            shown = [c for c in table.columns if c in table.key or c in table.fixed or self.chance(0.8)] or list(table.columns)
            scope = list(table.columns.items())
            check = self.pick("", "", " with check option", " with local check option")
            return f"create view {name} as select {', '.join(shown)} from {table.name} where {self.condition(scope, 1, True)}{check}"
        source, scope = self.source(2)
        shown = ", ".join(f"{text} as c{n}" for n, (text, _) in enumerate(self.dice.sample(scope, min(len(scope), 4))))
        kind = self.pick("view", "view", "materialized view")
        if kind == "view" and roll < 0.65:
            one, two = self.dice.sample(scope, 2) if len(scope) > 1 else (scope[0], scope[0])
            return f"create view {name} as select {one[0]} as c0, count(*)::int as c1 from {source}{self.where(scope, 0.4)} group by {one[0]}"
        return f"create {kind} {name} as select {shown} from {source}{self.where(scope, 0.6, 1)}"

    def alter_table(self):
        table = self.dice.choice(self.model.stored())
        alter = f"alter table {table.name}"
        columns = list(table.columns)
        column = self.dice.choice(columns)
        kind = table.columns[column]
        roll = self.dice.random()
        if roll < 0.22 and len(columns) < 10:
            kind = self.kind()
            ending = self.pick("", f" default {self.value(kind, [], 1, True)}", f" not null default {self.literal(kind)}", f" generated always as ({self.value(kind, [(c, k) for c, k in table.columns.items() if c not in table.filled], 2, True)}) stored", f" check ({column} is not null or true)")
            return f"{alter} add column {self.fresh('c')} {self.declared(kind)}{ending}"
        if roll < 0.32 and column not in table.key and len(columns) > 2:
            return f"{alter} drop column {column}{self.pick('', ' cascade')}"
        if roll < 0.44:
            to = {
                "integer": ["bigint", "numeric", f"text using {column}::text"], "smallint": ["integer"], "character varying": ["text", "citext", "varchar(30)"], "text": ["citext", "varchar(60)", f"int using length({column})"],
                "citext": ["text"], "date": ["timestamp", f"text using {column}::text"], "real": ["double precision"], "mood": [f"text using {column}::text"], "positive": ["integer", "bigint"],
                "jsonb": [f"text using left({column}::text, 30)"], "integer[]": ["bigint[]", f"text using {column}::text"], "numeric": ["numeric(12,3)"], "timestamp without time zone": [f"date using {column}::date"],
                "pair": [f"text using ({column}).t"], "hstore": [f"text using {column}->'a'"],
            }.get(kind)
            if to:
                return f"{alter} alter column {column} type {self.dice.choice(to)}"
        if roll < 0.52:
            return f"{alter} alter column {column} {self.pick('set not null', 'drop not null')}"
        if roll < 0.6:
            return f"{alter} alter column {column} " + self.pick("drop default", f"set default {self.value(kind, [], 1, True)}")
        if roll < 0.68:
            return f"{alter} add constraint {self.fresh('k')} check ({self.condition(list(table.columns.items()), 1, True)} or {column} is null or {self.condition(list(table.columns.items()), 0, True)}){self.pick('', ' not valid')}"
        if roll < 0.74:
            parents = [t for t in self.model.stored() if not table.for_statements and len(t.key) == 1 and t.columns.get(t.key[0]) == kind and all(t.name != other for _, other, _ in table.references)]
            if parents:
                parent = self.dice.choice(parents)
                return f"{alter} add constraint {self.fresh('k')} foreign key ({column}) references {parent.name}{self.actions(kind)}{'' if table.parts else self.pick('', ' not valid')}"
        if roll < 0.78 and column not in table.key:
            return f"{alter} add constraint {self.fresh('k')} unique ({column}{', ' + table.key[0] if table.key and table.key[0] != column else ''})"
        if roll < 0.84 and column not in table.key:
            return f"{alter} rename column {column} to {self.fresh('c')}"
        if roll < 0.9 and table.constraints:
            constraint, form = self.dice.choice(table.constraints)
            if form != "p":
                return f"{alter} drop constraint {constraint}{self.pick('', ' cascade')}"
        if roll < 0.93 and table.triggers:
            return f"{alter} {self.pick('disable', 'enable')} trigger {self.dice.choice(table.triggers)}"
        if table.parts:
            part = self.dice.choice(table.parts)
            return f"{alter} detach partition {part}"
        ranges = [c for c, k in table.columns.items() if k.endswith("range")]
        if ranges:
            return f"{alter} add constraint {self.fresh('k')} exclude using gist ({self.dice.choice(ranges)} with &&) where ({self.condition(list(table.columns.items()), 0, True)})"
        if self.chance(0.5):
            return f"alter table {table.name} set schema {self.pick('public', 'aside')}"
        return f"alter table {table.name} rename to {self.fresh('t')}"

    def change_function(self):
        """Functions that tables, views, indexes and triggers may call."""
        functions = self.model.functions
        roll = self.dice.random()
        if len(functions) < 2 or roll < 0.3 and len(functions) < 6:
            takes, gives, body = self.pick(*BODIES)
            name = f"{self.pick('', '', 'aside.')}{self.fresh('f')}"
            if self.chance(0.5):
                return f"create function {name}(a {takes}) returns {gives} language sql immutable as $$ select {body} $$"
            return f"create function {name}(a {takes}) returns {gives} language plpgsql immutable as $$ begin return {body}; end $$"
        name, takes, gives = self.dice.choice(functions)
        if roll < 0.55:
            return f"alter function {name}({takes}) rename to {self.fresh('f')}"
        if roll < 0.65:
            return f"alter function {name}({takes}) set schema {self.pick('public', 'aside')}"
        return f"drop function {name}({takes}){self.pick('', ' cascade', ' cascade')}"

    def create_temporary(self):
        """As other tables, but of the session."""
        if len(self.model.of("t")) > 2:
            return f"drop table {self.dice.choice(self.model.of('t')).name}"
        scope = [("id", "integer")]
        lines = ["id integer primary key"]
        for number in range(self.dice.randint(1, 4)):
            kind = self.kind()
            scope.append((f"c{number}", kind))
            lines.append(f"c{number} {self.declared(kind)}{self.pick('', '', f' default {self.value(kind, [], 1, True)}')}")
        if self.chance(0.3):
            lines.append(f"check ({self.condition(scope, 1, True)} or id is not null)")
        ending = self.pick("", "", "", " on commit delete rows", " on commit drop")
        return f"create temporary table {self.fresh('t')} ({', '.join(lines)}){ending}"

    def drop(self):
        roll = self.dice.random()
        table = self.dice.choice(self.model.stored())
        if roll < 0.35:
            free = [name for t in self.model.stored() for name, owned in t.indexes if not owned]
            if free:
                return f"drop index {self.dice.choice(free)}"
        if roll < 0.6 and table.triggers:
            return f"drop trigger {self.dice.choice(table.triggers)} on {table.name}"
        views = self.model.of("v", "m")
        if roll < 0.8 and views:
            view = self.dice.choice(views)
            return f"drop {'view' if view.form == 'v' else 'materialized view'} {view.name}{self.pick('', ' cascade')}"
        if len(self.model.stored()) > 5:
            return f"drop table {table.name}{self.pick('', ' cascade')}"
        return self.create_index()

    def schema_change(self):
        """One statement or several."""
        if len(self.model.stored()) < 4:
            return self.create_table()
        if self.chance(0.2):
            return [self.change_function()]
        if self.chance(0.06):
            return [self.create_temporary()]
        roll = self.dice.random()
        if roll < 0.12 and len(self.model.stored()) < 9:
            return self.create_table()
        if roll < 0.37:
            return [self.create_index()]
        if roll < 0.52:
            return [self.create_trigger()]
        if roll < 0.62:
            return [self.create_view()] if len(self.model.of("v", "m")) < 7 else [self.drop()]
        if roll < 0.87:
            return [self.alter_table()]
        if roll < 0.9:
            return [f"truncate {self.dice.choice(self.model.stored()).name}{self.pick('', ' cascade')}"]
        if roll < 0.93 and self.model.of("m"):
            return [f"refresh materialized view {self.dice.choice(self.model.of('m')).name}"]
        if roll < 0.96:
            return [f"call shift({self.dice.randint(0, 5)}, {self.dice.randint(0, 3)})"]
        return [self.drop()]
