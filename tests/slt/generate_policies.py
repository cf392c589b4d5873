"""Makes questions about row security: random policies on two tables, and statements of three roles under them.

    python3 tests/slt/generate_policies.py > tests/slt/cases/row_security_random.sql

`record.py` asks PostgreSQL. Each statement is rolled back; of one that changes rows the table is asked for afterwards.
"""

import random

SEED = 15
ROUNDS = 30
STATEMENTS = 12
NAMES = ["'rr_x'", "'rr_y'", "'rr_o'", "null"]
COLUMNS = {"rr_a": ["id", "k", "v"], "rr_b": ["id", "k"]}

R = random.Random(SEED)


def tables():
    yield from [f"create role rr_{name}" for name in "xyo"]
    yield "create table rr_a (id int primary key, k int, w name, v int)"
    yield "create index on rr_a (k)"
    yield "create index on rr_a (w, v)"
    yield "create table rr_b (id int primary key, k int, w name)"
    yield "create table rr_c (id int, k int)"
    a = [f"({i}, {R.randrange(8)}, {R.choice(NAMES)}, {R.choice(['null', R.randrange(5)])})" for i in range(40)]
    b = [f"({i}, {R.randrange(8)}, {R.choice(NAMES)})" for i in range(15)]
    c = [f"({R.randrange(10)}, {R.randrange(8)})" for _ in range(20)]
    for name, rows in [("a", a), ("b", b), ("c", c)]:
        yield f"insert into rr_{name} values {', '.join(rows)}"
    yield "alter table rr_a owner to rr_o"
    yield "create view rr_v as select * from rr_a where k < 6"
    yield "alter view rr_v owner to rr_y"
    yield "create view rr_i with (security_invoker) as select a.id, a.k, b.id as other from rr_a a join rr_b b on a.k = b.k"
    yield "create view rr_s with (security_barrier) as select * from rr_a where v is not null or k = 1"
    yield "grant all on rr_a, rr_b, rr_c, rr_v, rr_i, rr_s to rr_x, rr_y, rr_o"
    yield (
        "create function rr_count(i int) returns bigint language plpgsql as "
        "$$ begin return (select count(*) from rr_a where k <> i); end $$"
    )
    yield (
        "create function rr_own(i int) returns bigint security definer language sql as "
        "$$ select count(*) from rr_a where k <> i $$"
    )
    yield "alter function rr_own owner to rr_y"


def condition(table, depth=0):
    column = f"{table}.{R.choice(COLUMNS[table])}"
    simple = [
        f"{column} = {R.randrange(8)}",
        f"{column} {R.choice(['<', '>', '<=', '<>'])} {R.randrange(20)}",
        f"{column} in ({R.randrange(8)}, {R.randrange(8)}, {R.randrange(40)})",
        f"{column} is {R.choice(['', 'not '])}null",
        f"{table}.w = {R.choice(['current_user', NAMES[0]])}",
        f"{column} between 2 and 9",
    ]
    kind = R.randrange(11)
    if kind < 6 or depth == 2:
        return R.choice(simple)
    if kind < 9:
        return f"({condition(table, depth + 1)} {R.choice(['and', 'or'])} {condition(table, depth + 1)})"
    if kind == 9:
        return f"exists (select 1 from rr_c c where c.k = {column})"
    return f"not ({column} in (select c.id from rr_c c where c.k < {R.randrange(8)}))"


def policies():
    for table in COLUMNS:
        yield from [f"drop policy if exists p{number} on {table}" for number in range(4)]
        for number in range(R.randrange(1, 5)):
            command = R.choice(["all", "all", "select", "insert", "update", "delete"])
            kind = R.choice(["permissive", "permissive", "restrictive"])
            roles = R.choice(["public", "public", "rr_x", "rr_y, rr_o"])
            using = f" using ({condition(table)})" if command != "insert" else ""
            checks = command in ("all", "insert", "update") and R.random() < 0.6
            check = f" with check ({condition(table)})" if checks else ""
            yield f"create policy p{number} on {table} as {kind} for {command} to {roles}{using}{check}"
        yield f"alter table {table} {R.choice(['enable', 'enable', 'enable', 'disable'])} row level security"
        yield f"alter table {table} {R.choice(['force', 'no force'])} row level security"


def statement():
    a, b = condition("rr_a"), condition("rr_b")
    key, row = R.randrange(8), f"{R.randrange(60)}, {R.randrange(8)}, {R.choice(NAMES)}, {R.randrange(5)}"
    conflict = R.choice([
        "", "on conflict do nothing", "on conflict (id) do nothing", "on conflict (id) do update set v = 9",
        "on conflict (id) do update set k = excluded.k, w = excluded.w where rr_a.v > 1",
    ])
    value = R.choice(["v + 1", "null", "3", "k", "(select max(k) from rr_c)"])
    more = R.choice(["", f", k = {key}", ", w = current_user"])
    return R.choice([
        f"select id, k, v from rr_a where {a} order by id",
        f"select rr_a.id, rr_b.id from rr_a join rr_b on rr_a.k = rr_b.k where {a} and {b} order by 1, 2",
        f"select rr_a.id, rr_b.id from rr_a left join rr_b on rr_a.id = rr_b.id and {b} where {a} order by 1, 2",
        f"select rr_b.id, (select count(*) from rr_a where rr_a.k = rr_b.k and {a}) from rr_b order by 1",
        f"select k, count(*), sum(v) from rr_a where {a} group by k order by k",
        f"select id from rr_a where {a} order by id for update",
        f"select id from rr_a where id not in (select rr_b.id from rr_b where {b}) and {a} order by id",
        f"select id, k from rr_v where k <> {key} order by id",
        f"select id, other from rr_i where 10 / (k + 1) > 1 order by id, other",
        f"select id, k from rr_s where id < {key * 5} order by id",
        f"select rr_count({key}), rr_own({key})",
        f"update rr_a set v = {value}{more} where {a}",
        f"update rr_v set v = 2{R.choice(['', ', k = 7'])} where id > {key}",
        f"delete from rr_a where {a}",
        f"insert into rr_a values ({row}) {conflict}",
        f"insert into rr_a select id + 100, k, w, 1 from rr_b where {b}",
    ])


def main():
    for line in tables():
        print(line)
    for _ in range(ROUNDS):
        for line in policies():
            print(line)
        for _ in range(STATEMENTS):
            text = statement().strip()
            print("begin")
            print(f"set local role rr_{R.choice('xyo')}")
            print(text)
            if not text.startswith("select"):
                print("reset role")
                print("select * from rr_a order by id")
            print("rollback")
    print("drop function rr_count(int), rr_own(int)")
    print("drop table rr_a, rr_b, rr_c cascade")
    print("drop role rr_x, rr_y, rr_o")


if __name__ == "__main__":
    main()
