"""Makes questions: random expressions over the types and functions that there are.

    python3 tests/slt/generate.py FAMILY COUNT SEED > cases/FAMILY_random.sql

The same arguments make the same file; those in `cases` are of 1100 1 (windows of 600 1, groups of 300 1), and only the answers are kept
there. What PostgreSQL answers, `record.py` writes down.
"""

import random
import sys

SAMPLES = {
    "int": ["0", "1", "-1", "2", "7", "-13", "100", "2147483647", "(-2147483648)", "null::int"],
    "bigint": ["0::bigint", "5::bigint", "-3::bigint", "9223372036854775807", "123456789012", "null::bigint"],
    "smallint": ["1::smallint", "-7::smallint", "32767::smallint"],
    "numeric": ["0.0", "1.5", "-2.25", "10.00", "123456.789", "0.001", "1e10", "-0.5", "99999999999999999999.9", "null::numeric"],
    "float8": ["0::float8", "1.5::float8", "-2.25::float8", "1e10::float8", "'NaN'::float8", "'-Infinity'::float8", "0.1::float8"],
    "text": ["'abc'", "''", "'Hello World'", "'a,b,,c'", "'  pad '", "'äöü'", "'100%'", "'x_y'", "'aXbXc'", "'2024-02-29'", "'17'", "null::text"],
    "bool": ["true", "false", "null::bool"],
    "date": ["date '2024-02-29'", "date '2000-01-01'", "date '1999-12-31'", "date '0044-03-15 BC'", "date '2023-06-15'", "null::date"],
    "timestamp": [
        "timestamp '2024-02-29 12:34:56.789'",
        "timestamp '2000-01-01 00:00'",
        "timestamp '1970-01-01 23:59:59.999999'",
        "timestamp '2023-12-31 06:00'",
        "timestamp 'infinity'",
    ],
    "moment": ["timestamp '2024-02-29 12:34:56.789'", "timestamp '2000-01-01'", "timestamp '1969-12-31 23:59:59.5'", "timestamp '2023-03-31'"],
    "datetext": ["'2024-02-29'", "'2023-02-29'", "'2024/1/5'", "'20240131'", "'Feb 1, 2024'", "'x'", "''", "'infinity'"],
    "timestamptz": ["timestamptz '2024-02-29 12:34:56+02'", "timestamptz '2000-01-01 00:00Z'", "timestamptz '2023-07-01 18:30-05'"],
    "interval": [
        "interval '1 day'",
        "interval '1 month 2 days 03:04:05'",
        "interval '-1 year'",
        "interval '90 minutes'",
        "interval '-5 days 12:30:00.5'",
        "interval '25 hours'",
        "interval '14 mons -3 days'",
        "interval '0'",
    ],
    "time": ["time '00:00'", "time '12:34:56.789'", "time '23:59:59.999999'", "time '06:30'"],
    "jsonb": [
        "'{\"a\": 1, \"b\": [1, 2, {\"c\": null}]}'::jsonb",
        "'[1, \"x\", null, true, 2.50]'::jsonb",
        "'{}'::jsonb",
        "'[]'::jsonb",
        "'\"str\"'::jsonb",
        "'3.14'::jsonb",
        "'null'::jsonb",
        "'{\"k\": {\"n\": {\"d\": \"deep\"}}, \"t\": false}'::jsonb",
        "'[[1, 2], [3]]'::jsonb",
        "null::jsonb",
    ],
    "key": ["'a'", "'b'", "'c'", "'k'", "'x'", "''"],
    "place": ["0", "1", "-1", "2", "5"],
    "path": ["'{a}'", "'{b,0}'", "'{b,2,c}'", "'{k,n,d}'", "'{0}'", "'{-1}'", "'{}'", "'{x,y}'"],
    "ints": ["array[1,2,3]", "'{}'::int[]", "array[3,null,1]", "array[7]", "array[1,1,2]", "null::int[]"],
    "texts": ["array['a','b']", "'{}'::text[]", "array['x',null,'y z']", "array['abc']"],
    "small": ["0", "1", "2", "3", "-1", "5"],
    "pattern": ["'a%'", "'%b%'", "'_b_'", "'%'", "'x\\_y'", "'A%'", "'%c'"],
    "regexp": ["'b'", "'^a'", "'[a-z]+'", "'(a)(b)?'", "'o'", "'\\s+'", "'[A-Z]'", "'.'", "'x$'", "'\\d+'"],
    "separator": ["','", "'X'", "' '", "''", "'zz'"],
    "unit": ["'year'", "'month'", "'day'", "'hour'", "'minute'", "'second'", "'quarter'", "'century'", "'decade'", "'epoch'", "'dow'", "'week'"],
    "cut": ["'year'", "'month'", "'day'", "'hour'", "'minute'", "'second'", "'quarter'", "'decade'", "'milliseconds'", "'week'"],
    "zone": ["'UTC'", "'Europe/Berlin'", "'America/New_York'", "'+03'", "'Asia/Kolkata'"],
    "dateformat": [
        "'YYYY-MM-DD'", "'DD Mon YYYY HH24:MI:SS'", "'FMDay, DDth FMMonth YY'", "'Q WW IW ID DDD J'", "'HH12:MI:SS.MS AM'",
        "'YYYYMMDD'", "'Dy DD.MM.YYYY CC'", "'MON Month month RM'", "'SSSS US FF3'", "'\"w\"W IYYY'",
    ],
    "numberformat": ["'999'", "'9,999.99'", "'FM999.00'", "'0000'", "'S999'", "'999MI'", "'999PR'", "'99999999.999'", "'FM9999990.099'", "'9.99EEEE'"],
    "digits": ["0", "1", "2", "-1", "3"],
    # Of windows over `t`: calls whose answer rows that are equal in the order may not change, and others.
    "peercall": [
        "sum(v)", "count(*)", "count(v)", "avg(v)", "max(f)", "max(v)", "sum(n)", "avg(n)", "rank()", "dense_rank()", "percent_rank()",
        "cume_dist()", "sum(v) filter (where id % 2 = 0)", "bool_or(v > 2)", "bit_or(id)", "sum(f)",
    ],
    "rowcall": [
        "array_agg(id)", "row_number()", "ntile(3)", "lag(v)", "lead(id, 2, -1)", "first_value(v)", "last_value(id)", "nth_value(id, 2)", "sum(v)",
        "string_agg(id::text, '-')", "sum(n)", "avg(n)", "count(n)", "max(v)", "array_agg(v) filter (where v > 1)",
    ],
    "partition": ["", "partition by g", "partition by v % 2", "partition by g, v"],
    "peers": ["order by v", "order by v desc", "order by v nulls first", "order by v desc nulls last", "order by n", "order by f desc"],
    "rows": ["order by id", "order by id desc", "order by v, id", "order by n desc, id"],
    "peerframe": [
        "", "range between unbounded preceding and unbounded following", "range between 1 preceding and 1 following", "range between 2 following and 3 following",
        "range between unbounded preceding and 1 preceding", "range between current row and unbounded following", "groups between 1 preceding and 1 following",
        "groups 2 preceding", "groups between 1 following and 2 following", "range 1 preceding exclude group", "groups between 1 preceding and current row exclude group",
        "range between 0 preceding and 2 following",
    ],
    "rowframe": [
        "", "rows 2 preceding", "rows between 1 preceding and 1 following", "rows between current row and unbounded following", "rows between 2 following and 3 following",
        "rows between 3 preceding and 1 preceding", "rows between unbounded preceding and 1 following exclude current row", "rows between unbounded preceding and unbounded following",
        "rows between 1 preceding and 1 following exclude ties", "groups between 1 preceding and 1 following", "rows between 1 following and 1 following exclude group",
    ],
    "groups": ["a", "b", "a, b", "rollup (a, b)", "cube (a, b)", "grouping sets (a, b, ())", "a, rollup (b)", "rollup (a), rollup (b)", "grouping sets ((a, b), (a))", "()"],
    "grouped": ["count(*)", "sum(n)", "max(b)", "count(distinct b)", "sum(n) filter (where b > 1)", "sum(count(*)) over ()"],
    "arm": [
        "select 1 as x union all select 1 union all select 2", "select 1::bigint union all select null", "values (1), (2), (3)", "select x from generate_series(2, 4) x",
        "select null", "select 2 union all select 2 union all select null", "values (3), (3), (1)",
    ],
    "setop": ["union", "union all", "intersect", "intersect all", "except", "except all"],
}

# What windows and groups are asked of.
WINDOWED = "(values (1,'a',1,1.5,0.5::float8),(2,'a',2,2.25,1),(3,'b',2,null,'NaN'),(4,'b',null,1.50,null),(5,'a',4,-1,2),(6,null,1,7.125,-1),(7,'b',5,0,2)) t(id, g, v, n, f)"
GROUPED = "(values ('x',1,1.5),('x',1,2),('x',2,null),('y',1,3),('y',null,4),(null,2,5)) t(a, b, n)"

# family: (template, types of its holes). A type in capitals may be an expression, others are samples.
FAMILIES = {
    "windows": [
        ("id, {} over ({} {} {}) from " + WINDOWED + " order by id", ["peercall", "partition", "peers", "peerframe"]),
        ("id, {} over ({} {} {}) from " + WINDOWED + " order by id", ["rowcall", "partition", "rows", "rowframe"]),
    ],
    "groups": [
        ("{}, {} from " + GROUPED + " group by {} order by 1, 2", ["grouped", "grouped", "groups"]),
        ("grouping(a), grouping(b), a, b, {} from " + GROUPED + " group by {} order by 1, 2, 3, 4, 5", ["grouped", "groups"]),
        ("* from (({}) {} ({})) t order by 1", ["arm", "setop", "arm"]),
        ("* from ((({}) {} ({})) {} ({})) t order by 1", ["arm", "setop", "arm", "setop", "arm"]),
    ],
    "arithmetic": [
        ("{} + {}", ["INT", "INT"]), ("{} - {}", ["INT", "BIGINT"]), ("{} * {}", ["INT", "NUMERIC"]), ("{} / {}", ["INT", "INT"]),
        ("{} / {}", ["NUMERIC", "NUMERIC"]), ("{} % {}", ["INT", "INT"]), ("{} % {}", ["NUMERIC", "NUMERIC"]), ("{} * {}", ["NUMERIC", "NUMERIC"]),
        ("{} + {}", ["NUMERIC", "INT"]), ("{} - {}", ["SMALLINT", "INT"]), ("{} + {}", ["FLOAT8", "INT"]), ("{} * {}", ["FLOAT8", "FLOAT8"]),
        ("{} / {}", ["FLOAT8", "INT"]), ("abs({})", ["NUMERIC"]), ("sign({})", ["NUMERIC"]), ("round({}, {})", ["NUMERIC", "digits"]),
        ("trunc({}, {})", ["NUMERIC", "digits"]), ("ceil({})", ["NUMERIC"]), ("floor({})", ["NUMERIC"]), ("round({})", ["FLOAT8"]),
        ("mod({}, {})", ["INT", "INT"]), ("div({}, {})", ["NUMERIC", "NUMERIC"]), ("gcd({}, {})", ["INT", "INT"]), ("lcm({}, {})", ["INT", "INT"]),
        ("greatest({}, {})", ["INT", "NUMERIC"]), ("least({}, {})", ["NUMERIC", "FLOAT8"]), ("{} & {}", ["INT", "INT"]), ("{} | {}", ["INT", "INT"]),
        ("{} # {}", ["INT", "INT"]), ("({})::int", ["NUMERIC"]), ("({})::bigint", ["NUMERIC"]), ("({})::numeric(8,2)", ["NUMERIC"]), ("({})::text", ["NUMERIC"]),
        ("({})::float8", ["NUMERIC"]), ("({})::int", ["FLOAT8"]), ("({})::smallint", ["INT"]), ("{} = {}", ["INT", "NUMERIC"]), ("{} < {}", ["NUMERIC", "FLOAT8"]),
        ("coalesce({}, {})", ["INT", "INT"]), ("nullif({}, {})", ["INT", "INT"]), ("case when {} > 0 then {} else {} end", ["INT", "INT", "NUMERIC"]),
        ("{} between {} and {}", ["INT", "INT", "INT"]), ("{} in ({}, {})", ["INT", "INT", "INT"]), ("sqrt({})", ["NUMERIC"]), ("power({}, {})", ["NUMERIC", "digits"]),
        ("to_char({}, {})", ["NUMERIC", "numberformat"]), ("to_char({}, {})", ["INT", "numberformat"]), ("scale({})", ["NUMERIC"]), ("trim_scale({})", ["NUMERIC"]),
        ("width_bucket({}, 0, 100, 7)", ["NUMERIC"]), ("to_hex({})", ["INT"]), ("{} is distinct from {}", ["INT", "BIGINT"]), ("-{}", ["NUMERIC"]),
    ],
    "datetime": [
        ("{} + {}", ["TIMESTAMP", "INTERVAL"]), ("{} - {}", ["TIMESTAMP", "INTERVAL"]), ("{} + {}", ["DATE", "INTERVAL"]), ("{} - {}", ["TIMESTAMP", "TIMESTAMP"]),
        ("{} - {}", ["DATE", "DATE"]), ("{} + {}", ["DATE", "small"]), ("{} - {}", ["DATE", "small"]), ("{} + {}", ["INTERVAL", "INTERVAL"]),
        ("{} - {}", ["INTERVAL", "INTERVAL"]), ("{} * {}", ["INTERVAL", "NUMERIC"]), ("{} / {}", ["INTERVAL", "small"]), ("-{}", ["INTERVAL"]),
        ("{} + {}", ["TIME", "INTERVAL"]), ("{} - {}", ["TIME", "TIME"]), ("{} + {}", ["DATE", "TIME"]), ("{} + {}", ["TIMESTAMPTZ", "INTERVAL"]),
        ("{} - {}", ["TIMESTAMPTZ", "TIMESTAMPTZ"]), ("age({}, {})", ["moment", "moment"]), ("extract({} from {})", ["unit", "TIMESTAMP"]),
        ("extract({} from {})", ["unit", "DATE"]), ("extract({} from {})", ["unit", "INTERVAL"]), ("date_part({}, {})", ["unit", "TIMESTAMPTZ"]),
        ("extract({} from {})", ["unit", "TIME"]), ("date_trunc({}, {})", ["cut", "TIMESTAMP"]), ("date_trunc({}, {})", ["cut", "INTERVAL"]),
        ("date_trunc({}, {})", ["cut", "TIMESTAMPTZ"]), ("justify_interval({})", ["INTERVAL"]), ("justify_days({})", ["INTERVAL"]), ("justify_hours({})", ["INTERVAL"]),
        ("{} at time zone {}", ["TIMESTAMP", "zone"]), ("{} at time zone {}", ["TIMESTAMPTZ", "zone"]), ("to_char({}, {})", ["TIMESTAMP", "dateformat"]),
        ("to_char({}, {})", ["DATE", "dateformat"]), ("({})::date", ["TIMESTAMP"]), ("({})::timestamp", ["DATE"]), ("({})::time", ["TIMESTAMP"]), ("({})::text", ["INTERVAL"]),
        ("({})::text", ["TIMESTAMP"]), ("{} = {}", ["INTERVAL", "INTERVAL"]), ("{} < {}", ["INTERVAL", "INTERVAL"]), ("{} < {}", ["DATE", "TIMESTAMP"]),
        ("{} >= {}", ["TIME", "TIME"]), ("greatest({}, {})", ["INTERVAL", "INTERVAL"]), ("isfinite({})", ["TIMESTAMP"]), ("({})::interval", ["TIME"]), ("({})::time", ["INTERVAL"]),
        ("({})::time(1)", ["TIME"]), ("({})::timestamp(2)", ["TIMESTAMP"]), ("date_bin({}, {}, timestamp '2000-01-01')", ["INTERVAL", "TIMESTAMP"]),
    ],
    "text": [
        ("{} || {}", ["TEXT", "TEXT"]), ("{} || {}", ["TEXT", "INT"]), ("upper({})", ["TEXT"]), ("initcap({})", ["TEXT"]), ("length({})", ["TEXT"]),
        ("reverse({})", ["TEXT"]), ("left({}, {})", ["TEXT", "small"]), ("right({}, {})", ["TEXT", "small"]), ("lpad({}, {}, {})", ["TEXT", "small", "separator"]),
        ("rpad({}, {}, 'xy')", ["TEXT", "small"]), ("substr({}, {}, 2)", ["TEXT", "small"]), ("substring({} from {})", ["TEXT", "small"]),
        ("split_part({}, {}, {})", ["TEXT", "separator", "small"]), ("replace({}, {}, '-')", ["TEXT", "separator"]), ("position({} in {})", ["separator", "TEXT"]),
        ("{} like {}", ["TEXT", "pattern"]), ("{} ilike {}", ["TEXT", "pattern"]), ("{} not like {}", ["TEXT", "pattern"]), ("{} ~ {}", ["TEXT", "regexp"]),
        ("{} ~* {}", ["TEXT", "regexp"]), ("regexp_replace({}, {}, '<\\&>')", ["TEXT", "regexp"]), ("regexp_replace({}, {}, '', 'g')", ["TEXT", "regexp"]),
        ("regexp_match({}, {})", ["TEXT", "regexp"]), ("regexp_split_to_array({}, {})", ["TEXT", "regexp"]), ("string_to_array({}, {})", ["TEXT", "separator"]),
        ("btrim({})", ["TEXT"]), ("btrim({}, {})", ["TEXT", "separator"]), ("translate({}, 'abX', 'xy')", ["TEXT"]), ("repeat({}, {})", ["TEXT", "small"]),
        ("ascii({})", ["TEXT"]), ("md5({})", ["TEXT"]), ("quote_literal({})", ["TEXT"]), ("quote_ident({})", ["TEXT"]), ("concat({}, {}, null)", ["TEXT", "INT"]),
        ("concat_ws({}, {}, {})", ["separator", "TEXT", "TEXT"]), ("format('%s:%L:%I', {}, {}, 'id')", ["TEXT", "TEXT"]), ("{} < {}", ["TEXT", "TEXT"]), ("{} = {}", ["TEXT", "TEXT"]),
        ("greatest({}, {})", ["TEXT", "TEXT"]), ("({})::int", ["TEXT"]), ("({})::date", ["datetext"]), ("({})::varchar(3)", ["TEXT"]), ("({})::char(5)", ["TEXT"]),
        ("overlay({} placing 'zz' from 2)", ["TEXT"]), ("starts_with({}, {})", ["TEXT", "separator"]), ("encode(({})::bytea, 'base64')", ["separator"]), ("regexp_count({}, {})", ["TEXT", "regexp"]),
        ("{} similar to {}", ["TEXT", "pattern"]), ("octet_length({})", ["TEXT"]), ("coalesce({}, {})", ["TEXT", "TEXT"]), ("strpos({}, {})", ["TEXT", "separator"]),
    ],
    "jsonb": [
        ("{} -> {}", ["JSONB", "key"]), ("{} -> {}", ["JSONB", "place"]), ("{} ->> {}", ["JSONB", "key"]), ("{} ->> {}", ["JSONB", "place"]),
        ("{} #> {}", ["JSONB", "path"]), ("{} #>> {}", ["JSONB", "path"]), ("{} @> {}", ["JSONB", "JSONB"]), ("{} <@ {}", ["JSONB", "JSONB"]),
        ("{} ? {}", ["JSONB", "key"]), ("{} ?| array['a','k']", ["JSONB"]), ("{} ?& array['a','b']", ["JSONB"]), ("{} || {}", ["JSONB", "JSONB"]),
        ("{} - {}::text", ["JSONB", "key"]), ("{} - {}", ["JSONB", "place"]), ("{} #- {}", ["JSONB", "path"]), ("jsonb_set({}, {}, {})", ["JSONB", "path", "JSONB"]),
        ("jsonb_set({}, {}, '9', false)", ["JSONB", "path"]), ("jsonb_insert({}, {}, '\"new\"')", ["JSONB", "path"]), ("jsonb_insert({}, {}, '0', true)", ["JSONB", "path"]),
        ("jsonb_typeof({})", ["JSONB"]), ("jsonb_array_length({})", ["JSONB"]), ("jsonb_strip_nulls({})", ["JSONB"]), ("jsonb_pretty({})", ["JSONB"]),
        ("jsonb_build_array({}, {})", ["JSONB", "TEXT"]), ("jsonb_build_object({}, {})", ["key", "NUMERIC"]), ("json_build_object({}, {})", ["key", "JSONB"]),
        ("to_jsonb({})", ["NUMERIC"]), ("to_jsonb({})", ["ints"]), ("to_jsonb({}::text)", ["TEXT"]), ("to_json({})", ["texts"]), ("{} = {}", ["JSONB", "JSONB"]),
        ("{} < {}", ["JSONB", "JSONB"]), ("({})::text", ["JSONB"]), ("({})::int", ["JSONB"]), ("({})::numeric", ["JSONB"]), ("({})::bool", ["JSONB"]), ("({})::json", ["JSONB"]),
        ("jsonb_extract_path_text({}, 'b', '0')", ["JSONB"]), ("(select count(*) from jsonb_each({}))", ["JSONB"]), ("(select count(*) from jsonb_array_elements({}))", ["JSONB"]),
        ("array(select jsonb_object_keys({}))", ["JSONB"]), ("(({})::json) -> {}", ["JSONB", "key"]), ("(({})::json) #>> {}", ["JSONB", "path"]), ("greatest({}, {})", ["JSONB", "JSONB"]),
    ],
    "arrays": [
        ("{} || {}", ["INTS", "INTS"]), ("{} || {}", ["INTS", "int"]), ("array_append({}, {})", ["INTS", "int"]), ("array_prepend({}, {})", ["int", "INTS"]),
        ("array_remove({}, {})", ["INTS", "int"]), ("array_replace({}, 1, {})", ["INTS", "int"]), ("array_position({}, {})", ["INTS", "int"]), ("array_positions({}, 1)", ["INTS"]),
        ("array_length({}, 1)", ["INTS"]), ("cardinality({})", ["INTS"]), ("array_to_string({}, {})", ["INTS", "separator"]), ("array_to_string({}, ',', '*')", ["texts"]),
        ("{} @> {}", ["INTS", "INTS"]), ("{} <@ {}", ["INTS", "INTS"]), ("{} && {}", ["INTS", "INTS"]), ("{} = {}", ["INTS", "INTS"]), ("{} < {}", ["INTS", "INTS"]),
        ("{} = any({})", ["int", "INTS"]), ("{} = all({})", ["int", "INTS"]), ("{} > any({})", ["int", "INTS"]), ("({})[{}]", ["INTS", "small"]), ("({})[{}:2]", ["INTS", "small"]),
        ("({})::text[]", ["INTS"]), ("({})::text", ["texts"]), ("array(select x from unnest({}) x order by x)", ["INTS"]), ("(select sum(x) from unnest({}) x)", ["INTS"]),
        ("(select string_agg(x, '-') from unnest({}) x)", ["texts"]), ("(select max(n) from unnest({}) with ordinality t(x, n))", ["INTS"]), ("array_upper({}, 1)", ["INTS"]), ("array_dims({})", ["INTS"]),
        ("trim_array({}, {})", ["INTS", "small"]), ("array[{}, {}]", ["int", "int"]), ("({})::numeric[]", ["INTS"]), ("array_ndims({})", ["INTS"]), ("{} is null", ["INTS"]),
        ("(select array_agg(x order by x desc) from unnest({}) x)", ["INTS"]), ("(select stddev(x) from unnest({}) x)", ["INTS"]), ("(select json_agg(x) from unnest({}) x)", ["INTS"]),
        ("(select bool_and(x > 1) from unnest({}) x)", ["INTS"]), ("(select avg(x) filter (where x > 1) from unnest({}) x)", ["INTS"]), ("(select count(distinct x) from unnest({}) x)", ["INTS"]),
    ],
}

# How one type's value is made of others.
INNER = {
    "INT": ["{0} + {0}", "abs({0})", "coalesce({0}, 4)"],
    "NUMERIC": ["{0} + {0}", "round({0}, 1)", "{0} * 2"],
    "TEXT": ["lower({0})", "{0} || 'b'", "coalesce({0}, 'n')"],
    "INTERVAL": ["{0} + {0}", "{0} * 2"],
    "TIMESTAMP": ["{0} + interval '1 day'", "date_trunc('day', {0})"],
    "DATE": ["{0} + 1", "{0} - 400"],
    "JSONB": ["{0} || '[4]'", "coalesce({0}, '7')"],
    "INTS": ["{0} || 4", "array_remove({0}, 2)"],
}


def value(dice, kind):
    samples = SAMPLES[kind.lower()]
    if kind in INNER and dice.random() < 0.3:
        return "(" + dice.choice(INNER[kind]).format(dice.choice(samples)) + ")"
    return dice.choice(samples)


def main():
    family, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dice = random.Random(f"{family} {seed}")
    seen = set()
    while len(seen) < count:
        template, kinds = dice.choice(FAMILIES[family])
        question = "select " + template.format(*[value(dice, kind) for kind in kinds])
        if question not in seen:
            seen.add(question)
            print(question)


if __name__ == "__main__":
    main()
