"""Random plays of two or three sessions over a few rows: a seed is a play.

Promises: whatever is asked has one answer for one order of what was done (rows come sorted), and each session ends its block.
Does not: ask for what depends on whom a lock is granted first among several who wait, but by chance.
"""

import random

from .plays import LEVELS, Play

SETUPS = [
    [
        "create table t (id int primary key, k int unique, g int, n int);",
        "create index on t (g);",
        "insert into t values (1, 1, 1, 10), (2, 2, 1, 20), (3, 3, 2, 30), (4, 4, 2, 40);",
        "create table c (id int primary key, p int references t {action});",
        "insert into c values (1, 1), (2, 3);",
    ],
    [
        "create table t (id int primary key, k int unique {late}, g int, n int check (n > -1000));",
        "insert into t values (1, 1, 1, 10), (2, 2, 1, 20), (3, 3, 2, 30), (4, 4, 2, 40);",
        "create table c (id int primary key, p int references t (k) {action});",
        "create index on c (p);",
        "insert into c values (1, 1), (2, 3);",
    ],
    [
        "create table t (id int, k int, g int, n int, primary key (id, g)) partition by list (g);",
        "create table t1 partition of t for values in (1);",
        "create table t2 partition of t for values in (2);",
        "create table t0 partition of t default;",
        "insert into t values (1, 1, 1, 10), (2, 2, 1, 20), (3, 3, 2, 30), (4, 4, 2, 40);",
        "create table c (id int primary key, p int);",
        "insert into c values (1, 1), (2, 3);",
    ],
    [
        "create table t (id int, k int, g int, n int);",
        "create index on t (id);",
        "insert into t values (1, 1, 1, 10), (2, 2, 1, 20), (3, 3, 2, 30), (4, 4, 2, 40);",
        "create table c (id int primary key, p int);",
        "insert into c values (1, 1), (2, 3);",
        "create function bump() returns trigger language plpgsql as $$ begin update c set p = p + 1 where id = 1; return null; end $$;",
        "create trigger bump after update of k on t for each row execute function bump();",
    ],
]

# What every play is looked at by when it is over.
LOOKS = [
    "select * from t order by id, k, g, n",
    "select * from c order by id, p",
]


class Generator:
    def __init__(self, seed, levels=LEVELS, schema=True):
        self.dice = random.Random(f"play {seed}")
        self.level = self.dice.choice(levels)
        self.strict = self.level == "serializable"
        self.schema = schema
        self.number = self.dice.randrange(len(SETUPS))
        self.fresh = 10

    def pick(self, *options):
        return self.dice.choice(options)

    def chance(self, share):
        return self.dice.random() < share

    def where(self):
        return self.pick(
            f"id = {self.dice.randint(1, 4)}", f"id = {self.dice.randint(1, 5)}", f"id <= {self.dice.randint(1, 3)}", f"k = {self.dice.randint(1, 5)}",
            f"g = {self.dice.randint(1, 2)}", f"n > {self.dice.randint(1, 4) * 10}", f"n % 2 = {self.dice.randint(0, 1)}",
            f"id in ({self.dice.randint(1, 4)}, {self.dice.randint(1, 5)})", f"id in (select p from c where id <= {self.dice.randint(1, 2)})",
            f"exists (select from c where c.p = t.id and c.id < {self.dice.randint(2, 5)})",
        )

    def assigned(self):
        return self.pick(
            f"n = n + {self.dice.randint(1, 9)}", f"n = n * 2 + {self.dice.randint(0, 3)}", "n = n + id", f"g = {self.dice.randint(1, 3)}",
            f"k = k + {self.pick(0, 10, 20)}", f"n = (select count(*) from t s where s.g = t.g) + {self.dice.randint(0, 9)}", "n = (select max(n) from t) + 1",
            f"id = id + {self.pick(0, 10)}" if self.chance(0.4) else "n = -n",
        )

    def new(self):
        return self.dice.randint(1, 7)

    def row(self):
        one = self.new()
        return f"({one}, {self.pick(one, one, self.new())}, {self.dice.randint(1, 3)}, {self.dice.randint(1, 99)})"

    def returned(self, names="id, g, n"):
        return f" returning {names}" if self.chance(0.3) else ""

    def change(self):
        roll = self.dice.random()
        if roll < 0.4:
            return f"update t set {self.assigned()} where {self.where()}"
        if roll < 0.5:
            return f"delete from t where {self.where()}"
        if roll < 0.62:
            return f"insert into t values {self.row()}"
        if roll < 0.72 and self.number < 2:
            what = self.pick("do nothing", "(id) do update set n = t.n + excluded.n", f"(id) do update set n = t.n + 1 where t.g = {self.pick(1, 2)}")
            if self.number == 1 and what == "do nothing":
                what = "(id) do nothing"
            return f"insert into t values {self.row()} on conflict {what}"
        if roll < 0.84:
            return self.pick(
                f"insert into c values ({self.dice.randint(1, 5)}, {self.dice.randint(1, 6)})",
                f"update c set p = {self.dice.randint(1, 5)} where id = {self.dice.randint(1, 3)}",
                f"delete from c where id = {self.dice.randint(1, 3)}",
                f"insert into c values ({self.dice.randint(1, 5)}, {self.dice.randint(1, 6)}) on conflict (id) do update set p = excluded.p",
            )
        if roll < 0.9:
            return f"update t set n = t.n + c.p from c where c.p = t.id and {self.pick('c.id = 1', 't.g = 1', 't.n > 15')}"
        if roll < 0.94 and self.number != 3:
            otherwise = self.pick("do nothing", "insert values (s.id, s.id, 1, s.n)")
            return (
                f"merge into t using (values ({self.new()}, 7)) s (id, n) on s.id = t.id "
                f"when matched and t.n < {self.dice.randint(2, 6) * 10} then update set n = t.n + s.n when matched then {self.pick('delete', 'do nothing', 'update set n = 0')} when not matched then {otherwise}"
            )
        return f"with w as (delete from c where id = {self.dice.randint(1, 3)} returning p) update t set n = n + 1 where id in (select p from w)"

    def read(self):
        if self.chance(0.5):
            # Not KEY SHARE, which is SHARE here: cases/row_locks has what follows from that.
            strength = self.pick("update", "no key update", "share")
            how = "" if self.strict else self.pick("", " nowait", " skip locked")
            if self.chance(0.2) and self.number != 2:
                return f"select t.id, t.n from t join c on c.p = t.id where {self.pick('t.g = 1', 'c.id < 3')} order by 1, 2 for {strength} of t{how}"
            return f"select id, n from t where {self.where()} order by id, n for {strength}{how}"
        return self.pick(
            f"select sum(n), count(*) from t where {self.where()}", f"select id, g, n from t where {self.where()} order by 1, 2, 3", "select count(*) from c",
            "select t.id, c.id from t join c on c.p = t.id order by 1, 2", "select max(id), max(k) from t",
        )

    def other(self):
        roll = self.dice.random()
        if roll < 0.3 and not self.strict:
            return f"lock table {self.pick('t', 't', 'c')} in {self.pick('share row exclusive', 'exclusive')} mode{self.pick('', '', ' nowait')}"
        # At REPEATABLE READ it takes the snapshot in PostgreSQL, and not here.
        if roll < 0.5 and self.level != "repeatable read":
            return f"select pg_advisory_xact_lock({self.dice.randint(1, 2)})"
        if roll < 0.6 and self.level == "read committed":
            return f"select pg_try_advisory_xact_lock({self.dice.randint(1, 2)})"
        if not self.schema:
            return self.read()
        self.fresh += 1
        return self.pick(
            f"create index i{self.fresh} on t (n)", f"alter table t add column m{self.fresh} int default {self.fresh}", "truncate c", "alter table c alter column p type bigint",
            f"create unique index u{self.fresh} on c (p)", f"alter table t add check (n < {self.pick(30, 1000)})", "drop table c" if self.chance(0.1) else "analyze t",
        )

    def session(self, name):
        steps = []
        for _ in range(self.dice.randint(1, 2)):
            if self.chance(0.25):
                steps.append((name, self.change()))
                continue
            steps.append((name, "begin"))
            saved = False
            for _ in range(self.dice.randint(1, 4)):
                roll = self.dice.random()
                if roll < 0.1:
                    steps.append((name, "savepoint s"))
                    saved = True
                elif roll < 0.2 and saved:
                    steps.append((name, self.pick("rollback to s", "rollback to s", "release s")))
                    saved = steps[-1][1] != "release s"
                elif roll < 0.62:
                    steps.append((name, self.change()))
                elif roll < 0.92:
                    steps.append((name, self.read()))
                else:
                    steps.append((name, self.other()))
            steps.append((name, self.pick("commit", "commit", "commit", "rollback")))
        return steps

    def play(self, seed):
        names = "abc"[: self.pick(2, 2, 3)]
        left = [self.session(name) for name in names]
        steps = []
        while any(left):
            one = self.dice.choice([s for s in left if s])
            for _ in range(self.pick(1, 1, 2)):
                if one:
                    steps.append(one.pop(0))
        fill = {"action": self.pick("", "on delete cascade", "on delete set null", "on delete cascade on update cascade", "deferrable initially deferred"), "late": ""}
        setup = [line.replace("{action}", fill["action"]).replace("{late}", fill["late"]) for line in SETUPS[self.number]]
        return Play(f"random {seed}", setup, steps, self.level)


def generated(seed, levels=LEVELS, schema=True):
    return Generator(seed, levels, schema).play(seed)
