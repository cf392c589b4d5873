"""Makes questions: random queries with joins and subqueries over small tables with NULLs, duplicates and an empty one.

    python3 tests/slt/generate_queries.py COUNT SEED > cases/queries_random.sql

The same arguments make the same file; the one in `cases` is of 700 1, and only the answers are kept there.
"""

import random
import sys

TABLES = {"t": ["k", "a", "b"], "u": ["a", "b"], "v": ["a", "b"], "e": ["a", "b"]}
SET_UP = [
    "create table t (k int primary key, a int, b int)",
    "create table u (a int, b int)",
    "create table v (a int, b int, primary key (a, b))",
    "create table e (a int, b int)",
    "create index u_a on u (a)",
]


class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.names = 0

    def set_up(self):
        yield from SET_UP
        value = lambda: self.dice.choice(["null", *map(str, range(1, 6))])
        rows = lambda count, row: ", ".join(row() for _ in range(count))
        keys = iter(range(1, 100))
        yield f"insert into t values {rows(8, lambda: f'({next(keys)}, {value()}, {value()})')}"
        yield f"insert into u values {rows(9, lambda: f'({value()}, {value()})')}"
        pairs = self.dice.sample([(a, b) for a in range(1, 6) for b in range(1, 6)], 7)
        yield "insert into v values " + ", ".join(f"({a}, {b})" for a, b in pairs)

    def pick(self, *ways):
        return self.dice.choice(ways)

    def column(self, scopes):
        # The nearest scope most of the time.
        near = scopes[-1] if self.dice.random() < 0.65 or len(scopes) == 1 else self.dice.choice(scopes)
        name, columns = self.dice.choice(near)
        return f"{name}.{self.dice.choice(columns)}"

    def value(self, scopes, depth):
        roll = self.dice.random()
        if roll < 0.6 or depth <= 0 and roll < 0.75:
            return self.column(scopes)
        if roll < 0.75:
            return str(self.dice.randint(0, 6))
        if roll < 0.85 or depth <= 0:
            return f"({self.column(scopes)} {self.pick('+', '-')} {self.column(scopes)})"
        if roll < 0.93:
            return self.scalar(scopes, depth - 1)
        return f"case when {self.condition(scopes, depth - 1)} then {self.column(scopes)} else {self.value(scopes, depth - 1)} end"

    def scalar(self, scopes, depth):
        source, scope = self.source(scopes, depth)
        inside = [*scopes, scope]
        where = f" where {self.condition(inside, depth)}" if self.dice.random() < 0.8 else ""
        if self.dice.random() < 0.7:
            call = self.pick("count(*)", f"max({self.column([scope])})", f"min({self.column([scope])})", f"sum({self.column([scope])})")
            return f"(select {call} from {source}{where})"
        column = self.column([scope])
        return f"(select {column} from {source}{where} order by 1 {self.pick('', 'desc')} limit 1)"

    def condition(self, scopes, depth):
        roll = self.dice.random()
        if depth > 0 and roll < 0.16:
            source, scope = self.source(scopes, depth - 1)
            inside = [*scopes, scope]
            return f"{self.pick('', 'not ')}exists (select 1 from {source} where {self.condition(inside, depth - 1)})"
        if depth > 0 and roll < 0.30:
            source, scope = self.source(scopes, depth - 1)
            inside = [*scopes, scope]
            where = f" where {self.condition(inside, depth - 1)}" if self.dice.random() < 0.7 else ""
            if self.dice.random() < 0.25:
                two = f"{self.column([scope])}, {self.column([scope])}"
                return f"({self.column(scopes)}, {self.column(scopes)}) {self.pick('', 'not ')}in (select {two} from {source}{where})"
            column = self.column([scope])
            if self.dice.random() < 0.7:
                return f"{self.column(scopes)} {self.pick('', 'not ')}in (select {column} from {source}{where})"
            op = self.pick("=", "<", ">", "<=", "<>")
            return f"{self.column(scopes)} {op} {self.pick('any', 'all')} (select {column} from {source}{where})"
        if roll < 0.45 and depth > 0:
            return f"({self.condition(scopes, depth - 1)} {self.pick('and', 'or')} {self.condition(scopes, depth - 1)})"
        if roll < 0.52:
            return f"{self.column(scopes)} is {self.pick('', 'not ')}null"
        if roll < 0.57 and depth > 0:
            return f"not {self.condition(scopes, depth - 1)}" if depth > 1 else f"not ({self.column(scopes)} > 2)"
        op = self.pick("=", "=", "=", "<", ">", "<>")
        return f"{self.value(scopes, depth - 1)} {op} {self.value(scopes, depth - 1)}"

    def item(self, scopes, depth, beside):
        """One item of FROM, and the names in sight of it."""
        self.names += 1
        name = f"x{self.names}"
        roll = self.dice.random()
        if depth > 0 and roll < 0.12:
            return f"({self.table(scopes, depth - 1)}) {name}", [(name, ["a", "b"])]
        if depth > 0 and roll < 0.24 and beside:
            return f"lateral ({self.table([*scopes, beside], depth - 1)}) {name}", [(name, ["a", "b"])]
        if depth > 0 and roll < 0.30:
            source, scope = self.source(scopes, depth - 1)
            column = self.column([scope])
            text = f"(select {column} as a, count(*) as b from {source} group by {column}) {name}"
            return text, [(name, ["a", "b"])]
        table = self.dice.choice(["t", "t", "u", "u", "v", "v", "e"])
        return f"{table} {name}", [(name, TABLES[table])]

    def table(self, scopes, depth):
        """A query with the columns a and b."""
        roll = self.dice.random()
        if depth > 0 and roll < 0.15:
            self.names += 1
            name = f"w{self.names}"
            one, two = f"{name}a", f"{name}b"
            on = self.join_condition([[(one, ["a", "b"])], [(two, ["a", "b"])]], scopes)
            both = f"{name} {one} {self.pick('join', 'left join')} {name} {two} on {on}"
            return f"with {name} as {self.pick('', 'materialized ')}({self.table(scopes, depth - 1)}) select {one}.a, {two}.b from {both}"
        if depth > 0 and roll < 0.3:
            kind = self.pick("union", "union all", "intersect", "intersect all", "except", "except all")
            return f"{self.rows(scopes, depth - 1)} {kind} {self.rows(scopes, depth - 1)}"
        if roll < 0.4:
            return f"{self.rows(scopes, depth)} order by 1, 2 limit {self.pick(1, 2, 3)}"
        return self.rows(scopes, depth)

    def rows(self, scopes, depth):
        source, scope = self.source(scopes, depth)
        inside = [*scopes, scope]
        where = f" where {self.condition(inside, depth)}" if self.dice.random() < 0.8 else ""
        if self.dice.random() < 0.15:
            key = self.column([scope])
            return f"select {key} as a, {self.pick('count(*)::int', f'max({self.column([scope])})')} as b from {source}{where} group by {key}"
        distinct = "distinct " if self.dice.random() < 0.1 else ""
        return f"select {distinct}{self.value(inside, depth)} as a, {self.column([scope])} as b from {source}{where}"

    def source(self, scopes, depth):
        text, scope = self.item(scopes, depth, [])
        while self.dice.random() < 0.45 and len(scope) < 4:
            kind = self.pick("join", "left join", "left join", "right join", "full join", "cross join", ",")
            lateral = scope if kind in ("join", "left join", "cross join", ",") else []
            if kind not in (",", "cross join") and self.dice.random() < 0.25 and len(scope) < 3:
                # Several on the right side.
                one, first = self.item(scopes, depth - 1, [])
                other, second = self.item(scopes, depth - 1, [])
                inner = [*first, *second]
                on = self.join_condition([first, second], scopes)
                right = f"({one} {self.pick('join', 'left join')} {other} on {on})"
            else:
                right, inner = self.item(scopes, depth - 1, lateral)
            if kind in (",", "cross join"):
                text = f"{text} cross join {right}"
            else:
                on = self.join_condition([scope, inner], scopes)
                if kind != "full join" and self.dice.random() < 0.3:
                    on += f" and {self.condition([*scopes, [*scope, *inner]], depth - 1)}"
                text = f"{text} {kind} {right} on {on}"
            scope = [*scope, *inner]
        return text, scope

    def join_condition(self, sides, scopes):
        left, right = (self.column([side]) for side in sides)
        if scopes and self.dice.random() < 0.35:
            # A side that looks at a row around it, too.
            around = self.column(scopes)
            left, right = self.pick((left, f"{right} + {around}"), (f"{left} - {around}", right), (left, f"coalesce({right}, {around})"))
        return f"{left} = {right}"

    def query(self):
        depth = self.pick(1, 2, 2, 3)
        source, scope = self.source([], depth)
        scopes = [scope]
        where = f" where {self.condition(scopes, depth)}" if self.dice.random() < 0.8 else ""
        if self.dice.random() < 0.2:
            key = self.column(scopes)
            more = self.pick("count(*)", f"sum({self.value(scopes, 1)})", f"count({self.value(scopes, 1)})")
            having = f" having {self.pick('count(*) > 1', 'exists (select 1 from u where u.a = ' + key + ')')}" if self.dice.random() < 0.4 else ""
            return f"select {key}, {more} from {source}{where} group by {key}{having} order by 1, 2"
        columns = [self.value(scopes, depth) for _ in range(self.pick(1, 2, 3))]
        order = ", ".join(str(place + 1) for place in range(len(columns)))
        return f"select {', '.join(columns)} from {source}{where} order by {order}"

    def change(self):
        scope = [("t", ["k", "a", "b"])]
        where = f" where {self.condition([scope], 2)}" if self.dice.random() < 0.8 else ""
        if self.dice.random() < 0.6:
            return f"update t set {self.pick('a', 'b')} = {self.value([scope], 2)}{where}"
        return f"delete from t{where}"


def main():
    count, seed = map(int, sys.argv[1:])
    maker = Maker(seed)
    for line in maker.set_up():
        print(line)
    for number in range(count):
        if number % 25 == 24:
            # What a change leaves is looked at, and undone.
            print("begin")
            print(maker.change())
            print("select * from t order by k")
            print("rollback")
        print(maker.query())


if __name__ == "__main__":
    main()
