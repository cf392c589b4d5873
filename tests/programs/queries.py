"""Expressions, conditions and queries over what a model has.

Promises: the rows of a query are the same whoever reads them (LIMIT only behind an order of all columns).
"""

import re

from . import kinds


class Queries:
    def __init__(self, dice):
        self.dice = dice
        self.model = None
        self.names = 0
        # Whether what is made outlives the session: it can have no temporary tables then.
        self.lasting = False

    def pick(self, *ways):
        return self.dice.choice(ways)

    def chance(self, part):
        return self.dice.random() < part

    def name(self):
        self.names += 1
        return f"x{self.names}"

    # A scope is a list of (column's text, kind).

    def value(self, kind, scope, depth=1, pure=False):
        """An expression of a kind."""
        roll = self.dice.random()
        fitting = [text for text, other in scope if other == kind]
        if fitting and roll < 0.55:
            return self.dice.choice(fitting)
        calls = [(name, takes) for name, takes, gives in self.model.functions if gives == kind] if self.model else []
        if depth > 0 and calls and self.chance(0.3):
            name, takes = self.dice.choice(calls)
            return f"{name}({self.typed(takes, scope, depth - 1, pure)})"
        made = [text for text in kinds.MAKES.get(kind, []) if not (pure and re.search(kinds.CHANGING, text))]
        if depth > 0 and roll < 0.8 and made:
            return "(" + self.filled(self.dice.choice(made), scope, depth - 1, pure) + ")"
        return self.constant(kind)

    def constant(self, kind):
        return "null" if self.chance(0.06) else self.dice.choice(kinds.VALUES[kind])

    def filled(self, template, scope, depth, pure=False):
        done = re.sub(r"(?<!\{)\{([a-z][a-z0-9 \[\]]*)\}(?!\})", lambda hole: self.typed(hole.group(1), scope, depth, pure), template)
        return done.replace("{{", "{").replace("}}", "}")

    def typed(self, kind, scope, depth, pure=False):
        """One whose type is seen, also of a text without one, or NULL."""
        text = self.value(kind, scope, depth, pure)
        if text == "null" or text.startswith("'") and text.endswith("'"):
            return f"{text}::{kind}"
        return f"({text})" if not re.fullmatch(r"[\w.]+", text) or text[0].isdigit() else text

    def condition(self, scope, depth=2, pure=False):
        roll = self.dice.random()
        if depth > 0 and roll < 0.2:
            return f"({self.condition(scope, depth - 1, pure)} {self.pick('and', 'and', 'or')} {self.condition(scope, depth - 1, pure)})"
        if depth > 0 and roll < 0.25:
            return f"not ({self.condition(scope, depth - 1, pure)})"
        if depth > 0 and roll < 0.4 and not pure:
            return self.subquery_condition(scope, depth - 1)
        text, kind = self.dice.choice(scope)
        if roll < 0.5:
            return f"{text} is {self.pick('', 'not ')}null"
        if roll < 0.75 and kind in kinds.ASKS:
            asked = [text for text in kinds.ASKS[kind] if not (pure and "select" in text)]
            return self.filled(self.dice.choice(asked).replace("{0}", text.replace("{", "{{").replace("}", "}}")), scope, 0, pure)
        if roll < 0.78:
            return f"{text} is {self.pick('', 'not ')}distinct from {self.typed(kind, scope, 1, pure)}"
        return f"{text} {self.pick('=', '<>') if kind in kinds.EQUAL_ONLY else self.pick('=', '=', '=', '<', '>', '<=', '>=', '<>')} {self.typed(kind, scope, 1, pure)}"

    def subquery_condition(self, scope, depth):
        source, inner = self.source(1)
        both = inner + scope
        roll = self.dice.random()
        pair = self.joined(inner, scope)
        if roll < 0.4:
            more = f" and {self.condition(both, depth)}" if self.chance(0.5) else ""
            return f"{self.pick('', '', 'not ')}exists (select from {source} where {pair}{more})"
        if roll < 0.75 and pair != "true":
            one, two = pair.split(" = ")
            where = f" where {self.condition(both if self.chance(0.3) else inner, depth)}" if self.chance(0.6) else ""
            return f"{two} {self.pick('', 'not ')}in (select {one} from {source}{where})"
        text, kind = self.dice.choice(scope)
        if kind in ("text", "date", "citext", "inet", *kinds.NUMBERS):
            fitting = [other for other, k in inner if k == kind]
            if fitting:
                made = self.dice.choice(fitting)
                call = f"{self.pick('max', 'min')}({made})"
                return f"{text} {self.pick('=', '>=', '<')} (select {call} from {source} where {self.condition(both, depth)})"
        return f"(select count(*) from {source} where {self.condition(both, depth)}) {self.pick('> 0', '= 0', '< 3')}"

    def joined(self, left, right):
        """An equality of two of one kind."""
        pairs = [(one, two) for one, kind in left for two, other in right if kind == other]
        if not pairs:
            return "true"
        one, two = self.dice.choice(pairs)
        return f"{one} = {two}"

    def item(self, table, name):
        return f"{table.name} {name}", [(f"{name}.{column}", kind) for column, kind in table.columns.items()]

    def readable(self):
        return self.model.of("r", "p", "v", "m") if self.lasting else self.model.of("r", "p", "v", "m", "t")

    def source(self, most=3):
        table = self.dice.choice(self.readable())
        text, scope = self.item(table, self.name())
        for _ in range(self.dice.randint(0, most - 1)):
            name = self.name()
            roll = self.dice.random()
            if roll < 0.15:
                table = self.dice.choice(self.readable())
                inner_text, inner = self.item(table, self.name())
                shown = self.dice.sample(inner, min(len(inner), 2))
                right = f"lateral (select {', '.join(f'{c} as c{n}' for n, (c, _) in enumerate(shown))} from {inner_text} where {self.joined(inner, scope)}) {name}"
                new = [(f"{name}.c{n}", kind) for n, (_, kind) in enumerate(shown)]
                text, scope = f"{text} {self.pick('cross join ' + right, 'left join ' + right + ' on true')}", scope + new
                continue
            if roll < 0.2:
                text, scope = f"{text} cross join lateral few({self.typed('integer', scope, 0)}) {name}", scope + [(name, "integer")]
                continue
            table = self.dice.choice(self.readable())
            right, new = self.item(table, name)
            link = self.joined(scope, new)
            if link == "true" and self.chance(0.8):
                continue
            more = f" and {self.condition(scope + new, 0, True)}" if self.chance(0.25) else ""
            text, scope = f"{text} {self.pick('join', 'join', 'left join', 'left join', 'right join', 'full join' if not more and ' = ' in link else 'join')} {right} on {link}{more}", scope + new
        return text, scope

    def sortable(self, scope):
        return [pair for pair in scope if pair[1] not in kinds.UNORDERED]

    def aggregates(self, scope):
        text, kind = self.dice.choice(scope)
        ways = ["count(*)", f"count({text})", f"count(distinct {text})", f"array_agg({text} order by {text})", f"count(*) filter (where {self.condition(scope, 0, True)})"]
        if kind in ("integer", "bigint", "smallint", "numeric", "positive"):
            ways += [f"sum({text})", f"avg({text})", f"max({text})", f"sum({text}) filter (where {self.condition(scope, 0, True)})", f"max({text})"]
        if kind in ("text", "date", "interval", "citext", "timestamp with time zone", "inet", "mood"):
            ways += [f"min({text})", f"max({text})"]
        if kind == "text":
            ways += [f"string_agg({text}, ',' order by {text})"]
        if kind == "boolean":
            ways += [f"bool_and({text})", f"bool_or({text})"]
        if kind.endswith("[]"):
            ways = ways[:3]
        return self.dice.choice(ways)

    def items(self, scope, count=None):
        made = []
        for _ in range(count or self.dice.randint(1, 4)):
            if self.chance(0.6):
                made.append(self.dice.choice(scope)[0])
            else:
                made.append(self.typed(self.dice.choice(["integer", "text", "boolean", "date", "jsonb", "numeric", "integer[]", "hstore", "pair", "citext", "mood"]), scope, 2))
        return made

    def where(self, scope, part=0.75, depth=2):
        return f" where {self.condition(scope, depth)}" if self.chance(part) else ""

    def windows(self, scope):
        order = ", ".join(f"{text} {self.pick('', 'desc', 'nulls first', 'desc nulls last')}" for text, _ in scope)
        some = self.dice.choice(scope)[0]
        part = f"partition by {self.dice.choice(scope)[0]} " if self.chance(0.6) else ""
        peers = [f"rank() over ({part}order by {some})", f"count(*) over ({part}order by {some})", f"dense_rank() over ({part}order by {some} desc)", f"count({some}) over ({part})"]
        rows = [f"row_number() over ({part}order by {order})", f"lag({some}) over ({part}order by {order})", f"first_value({some}) over ({part}order by {order})",
                f"count(*) over ({part}order by {order} rows between 2 preceding and 1 following)", f"ntile(3) over ({part}order by {order})"]
        return self.dice.choice(peers + rows)

    def query(self):
        roll = self.dice.random()
        source, scope = self.source(self.pick(1, 2, 2, 3))
        if roll < 0.12:
            groups = list(dict.fromkeys(text for text, _ in self.dice.sample(self.sortable(scope), min(len(scope), self.pick(1, 2)))))
            shown = ", ".join(groups)
            way = self.pick(shown, shown, f"rollup ({shown})", f"cube ({shown})", f"grouping sets (({shown}), ())")
            having = f" having {self.pick('count(*) > 1', 'count(*) < 4')}" if self.chance(0.3) else ""
            return f"select {shown}, {self.aggregates(scope)}, {self.aggregates(scope)} from {source}{self.where(scope)} group by {way}{having}"
        if roll < 0.15:
            # Aggregates that stand in a subquery and belong to the query around it.
            inner, _ = self.source(1)
            shown = self.pick(f"(select {self.aggregates(scope)})", f"(select {self.aggregates(scope)} from {inner} limit 1)", f"exists (select from {inner} where {self.aggregates(scope)} is null)")
            some = self.dice.choice(self.sortable(scope))[0]
            return self.pick(f"select {shown}, count(*) from {source}{self.where(scope)}", f"select {some}, {shown} from {source}{self.where(scope)} group by {some}")
        if roll < 0.18:
            return f"select {self.aggregates(scope)}, {self.aggregates(scope)} from {source}{self.where(scope)}"
        if roll < 0.26:
            shown = self.dice.sample(scope, min(len(scope), 3))
            return f"select {', '.join(text for text, _ in shown)}, {self.windows(shown)} from {source}{self.where(scope)}"
        if roll < 0.36:
            shown = [text for text, _ in self.dice.sample(scope, min(len(scope), 4))]
            order = ", ".join(f"{place + 1} {self.pick('', '', 'desc', 'nulls first', 'desc nulls last')}" for place in range(len(shown)))
            limit = self.pick("", f" limit {self.dice.randint(0, 7)}", f" limit 5 offset {self.dice.randint(0, 9)}", " fetch first 3 rows with ties")
            return f"select {', '.join(shown)} from {source}{self.where(scope)} order by {order}{limit}"
        if roll < 0.41:
            shown = [text for text, _ in self.dice.sample(scope, min(len(scope), 3))]
            order = ", ".join(f"{place + 1}{self.pick('', ' desc')}" for place in range(len(shown)))
            return f"select distinct on ({shown[0]}) {', '.join(shown)} from {source}{self.where(scope)} order by {order}"
        if roll < 0.51:
            wanted = self.dice.sample(["integer", "text", "date", "citext", "jsonb"], self.pick(1, 2))
            arms = []
            for _ in range(self.pick(2, 2, 3)):
                source, scope = self.source(2)
                arms.append(f"(select {', '.join(self.typed(kind, scope, 1) for kind in wanted)} from {source}{self.where(scope)})")
            text = arms[0]
            for arm in arms[1:]:
                text = f"({text} {self.pick('union', 'union all', 'except', 'intersect', 'except all', 'intersect all')} {arm})"
            return text
        if roll < 0.58:
            name, inner = self.name(), self.dice.sample(scope, min(len(scope), 3))
            shown = ", ".join(f"{text} as c{n}" for n, (text, _) in enumerate(inner))
            new = [(f"{name}.c{n}", kind) for n, (_, kind) in enumerate(inner)]
            return f"with {name} as {self.pick('', 'materialized ', 'not materialized ')}(select {shown} from {source}{self.where(scope)}) select {', '.join(self.items(new))} from {name}{self.where(new)}"
        if roll < 0.63:
            name, inner = self.name(), self.dice.sample(scope, min(len(scope), 3))
            shown = ", ".join(f"{text} as c{n}" for n, (text, _) in enumerate(inner))
            new = [(f"{name}.c{n}", kind) for n, (_, kind) in enumerate(inner)]
            return f"select {self.pick('distinct ', '')}{', '.join(self.items(new))} from (select {self.pick('distinct ', '')}{shown} from {source}{self.where(scope)}) {name}{self.where(new)}"
        return f"select {self.pick('', '', '', 'distinct ')}{', '.join(self.items(scope))} from {source}{self.where(scope)}"
