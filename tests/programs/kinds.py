"""Types of columns: values of each, and expressions that give them.

Relies on: the extensions and types of `SET_UP`.  Promises: texts that both servers understand, and whose
expressions do not fail for any value (so it does not matter which rows they are asked of, or in which order).
Does not: know tables.
"""

# What the types need; run once by both.
SET_UP = [
    "create schema aside",
    "create extension citext",
    "create extension hstore",
    "create extension btree_gin",
    "create extension btree_gist",
    "create extension pg_trgm",
    "create type mood as enum ('sad', 'ok', 'glad', 'mad')",
    "create domain positive as int check (value > 0)",
    "create domain word as text check (length(value) < 40)",
    "create type pair as (n int, t text)",
    "create function half(n int) returns int language sql immutable as 'select n / 2'",
    "create function loud(t text) returns text language plpgsql immutable as $$ begin return upper(coalesce(t, '')) || '!'; end $$",
    "create function few(n int) returns setof int language sql immutable as 'select generate_series(1, n % 4)'",
    "create function weight(p pair) returns int language sql immutable as 'select coalesce(p.n, 0) + length(coalesce(p.t, ''''))'",
]

WORDS = ["", "a", "b", "Ab", "aB", "abc", "hello", "Hello", "x y", "it''s", "ä", "Ö", "zz", "ab%", "foo bar", "a,b", "tom", "Tomato"]


def words(*more):
    return [f"'{word}'" for word in WORDS] + list(more)


def cast(kind, *texts):
    return [f"'{text}'::{kind}" for text in texts]


VALUES = {
    "integer": [str(n) for n in range(-3, 13)] + ["100", "-2000", "31000"],
    "bigint": [f"{n}::bigint" for n in range(-2, 9)] + ["5000000000", "-7000000000"],
    "smallint": [f"{n}::smallint" for n in range(0, 9)] + ["(-300)::smallint"],
    "numeric": ["0.0", "1.5", "1.50", "2", "-2.25", "10.00", "123.456", "1e3", "-0.5", "'NaN'::numeric", "7::numeric"],
    "double precision": ["0::float8", "1.5::float8", "-2.25::float8", "1e10::float8", "'NaN'::float8", "'-Infinity'::float8", "3::float8"],
    "real": ["0::real", "1.5::real", "-2.25::real", "0.1::real", "'Infinity'::real"],
    "text": words("null::text"),
    "character varying": [f"{word}::varchar" for word in words()],
    "character": cast("char(5)", "", "a", "ab", "ab ", "abcde", "z"),
    "citext": cast("citext", "a", "A", "b", "aB", "AB", "hello", "HELLO", "ä", "Ä", "", "it''s"),
    "boolean": ["true", "false", "true", "false", "null::boolean"],
    "date": cast("date", "2024-02-29", "2000-01-01", "1999-12-31", "2023-06-15", "2024-03-01", "2024-07-04"),
    "timestamp without time zone": cast("timestamp", "2024-02-29 12:34:56.789", "2000-01-01", "1999-12-31 23:59:59.999999", "2024-02-29"),
    "timestamp with time zone": cast("timestamptz", "2024-02-29 12:34:56+02", "2000-01-01 00:00Z", "2023-07-01 18:30-05", "2024-02-29 10:34:56Z"),
    "time without time zone": cast("time", "00:00", "12:34:56.789", "23:59:59.999999", "06:30"),
    "interval": cast("interval", "1 day", "23:00", "1 mon", "40 days", "-1 year", "90 min", "0", "1 mon 2 days 03:04:05"),
    "uuid": cast("uuid", *[f"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a{n}1" for n in range(1, 7)]),
    "bytea": cast("bytea", "", "\\x00", "\\xdeadbeef", "\\x0001", "abc"),
    "jsonb": cast(
        "jsonb", '{"a": 1, "b": [1, 2]}', '[1, "x", null]', "{}", "[]", '"s"', "3.10", "null", '{"a": {"b": "c"}}', '{"a": 1}', '{"b": [2]}', "true"
    ),
    "integer[]": ["'{}'::int[]", "array[1,2,3]", "array[3,null,1]", "array[7]", "array[[1,2],[3,4]]", "'[0:1]={5,6}'::int[]", "array[1,1]"],
    "text[]": ["'{}'::text[]", "array['a','b']", "array['x',null,'y z']", "array['abc']", "array[['a'],['b']]", "array['a','NULL']"],
    "hstore": cast("hstore", "", "a=>1", "a=>1,b=>2", "a=>NULL", "b=>x,c=>y", 'A=>"x y"'),
    "tsvector": ["to_tsvector('english', 'the quick foxes')", "'a:1A b:2'::tsvector", "''::tsvector", "to_tsvector('simple', 'Hello tom')"],
    "int4range": cast("int4range", "empty", "[1,5)", "(1,5]", "[3,)", "(,4)", "(,)", "[7,7]"),
    "daterange": cast("daterange", "empty", "[2024-01-01,2024-03-01)", "[2024-02-29,]", "(,2000-01-01)"),
    "int4multirange": cast("int4multirange", "{}", "{[1,3),[5,9)}", "{(,2)}", "{[4,6)}"),
    "inet": cast("inet", "10.0.0.1", "10.0.0.0/8", "10.1.2.3/16", "::1", "fe80::1/64", "192.168.1.1"),
    "macaddr": cast("macaddr", "08:00:2b:01:02:03", "08:00:2b:01:02:04", "ff:ff:ff:00:00:00"),
    "bit varying": cast("varbit", "", "0", "1", "01", "101", "1010"),
    "mood": cast("mood", "sad", "ok", "glad", "mad"),
    "mood[]": cast("mood[]", "{}", "{sad,ok}", "{glad,NULL}"),
    "positive": [f"{n}::positive" for n in range(1, 8)],
    "word": [f"{word}::word" for word in words()],
    "pair": ["row(1, 'a')::pair", "row(null, 'b')::pair", "row(2, null)::pair", "row(null, null)::pair", "row(1, 'A')::pair", "'(3,\"x,y\")'::pair"],
    "pair[]": ["array[row(1, 'a')::pair]", "'{}'::pair[]", "array[row(2, null)::pair, null]"],
    "\"char\"": cast('"char"', "a", "b", "Z", ""),
    "oid": ["1::oid", "7::oid", "4000000000::oid"],
}

# The same as columns are declared.
DECLARED = {"numeric": ["numeric", "numeric(8,2)"], "character varying": ["varchar(10)", "varchar"], "character": ["char(5)"], "bit varying": ["varbit(8)", "varbit"]}

# No default order, or one that needs no index here.
UNORDERED = {"json", "point"}
# No < in PostgreSQL.
EQUAL_ONLY = {"hstore"}
KEYS = ["integer", "integer", "integer", "bigint", "text", "citext", "date", "uuid", "numeric", "mood", "smallint", "inet", "positive", "timestamp with time zone"]
NUMBERS = ["integer", "bigint", "smallint", "numeric", "double precision", "real", "positive"]

# kind: expressions that give it. `{kind}` is another expression.
MAKES = {
    "integer": [
        "({integer} + {integer}) % 997", "abs({integer})", "coalesce({integer}, {integer})", "length({text})", "cardinality({integer[]})", "half({integer})",
        "case when {boolean} then {integer} else {integer} end", "extract(year from {date})::int", "nullif({integer}, {integer})", "weight({pair})", "({pair}).n",
        "greatest({integer}, {positive})", "{smallint} + 1", "array_length({text[]}, 1)", "position('a' in {text})", "({integer[]})[1]", "date_part('day', {date})::int",
        "mod({integer}, 7)", "{integer} & 3", "(select max(x) from few({integer}) x)", "lower({int4range})", "length({citext}::text)", "coalesce(({integer[]})[2:3], '{{}}')[1]",
    ],
    "bigint": ["{integer}::bigint", "({bigint} + {integer}) % 100000", "coalesce({bigint}, 0)"],
    "smallint": ["({integer} % 100)::smallint"],
    "numeric": ["{numeric} + {numeric}", "round({numeric}, 1)", "{integer}::numeric", "{integer} * 1.5", "abs({numeric})", "least({numeric}, {integer})"],
    "double precision": ["{integer} / 2.0::float8", "abs({double precision})", "{real}::float8"],
    "text": [
        "left({text} || {text}, 12)", "lower({text})", "upper({text})", "left({text}, 2)", "{integer}::text", "{date}::text", "coalesce({text}, '?')", "loud(left({text}, 8))",
        "substr({text}, 2, 3)", "replace({text}, 'a', 'b')", "left({citext}::text, 9)", "{hstore} -> 'a'", "{jsonb} ->> 'a'", "({pair}).t", "({text[]})[1]", "{mood}::text",
        "left({jsonb}::text, 20)", "left({pair}::text, 20)", "left({integer[]}::text, 20)", "host({inet})", "btrim({character varying}, 'a')", "initcap({text})", "{word} || ''",
        "array_to_string({integer[]}, '-')", "to_char({date}, 'YYYY-MM')", "left({hstore}::text, 20)", "reverse({text})", "{int4range}::text", "split_part({text}, ' ', 1)",
        "case {mood} when 'sad' then 'S' when 'ok' then {text} end", "left({tsvector}::text, 20)", "left({text[]}::text, 20)", "concat_ws('-', {integer}, {text})",
    ],
    "character varying": ["left({text}, 9)::varchar(10)", "{character varying}::varchar(3)"],
    "character": ["left({text}, 5)::char(5)"],
    "citext": ["left({text}, 9)::citext", "left({citext} || {text}, 9)::citext"],
    "boolean": ["{integer} > 3", "not {boolean}", "{citext} = {citext}", "{integer[]} @> {integer[]}", "{text} like 'a%'", "{jsonb} ? 'a'", "coalesce({boolean}, false)"],
    "date": ["{date} + ({integer} % 30)", "date_trunc('month', {date})::date", "{timestamp without time zone}::date", "greatest({date}, {date})"],
    "timestamp without time zone": ["{date} + interval '1 hour'", "date_trunc('day', {timestamp without time zone})", "{date}::timestamp"],
    "timestamp with time zone": ["{timestamp with time zone} + interval '1 day'", "{timestamp without time zone} at time zone 'UTC'"],
    "interval": ["{interval} + interval '1 hour'", "{timestamp without time zone} - {timestamp without time zone}", "justify_hours({interval})"],
    "jsonb": ["{jsonb} -> 'a'", "to_jsonb({integer})", "to_jsonb({text})", "jsonb_build_object('a', {integer}, 'b', {text})", "to_jsonb({integer[]})", "to_jsonb({pair})", "to_jsonb({date})"],
    "integer[]": ["array[{integer}, {integer}]", "array(select x from few({integer}) x)", "array_remove(array[{integer}, 1], 1)", "coalesce({integer[]}, '{{}}')"],
    "text[]": ["array[{text}, {text}]", "string_to_array({text}, ' ')", "akeys({hstore})", "{mood[]}::text[]"],
    "hstore": ["hstore('a', {text})", "{hstore} || 'b=>7'", "delete({hstore}, 'a')", "coalesce({hstore}, '')"],
    "tsvector": ["to_tsvector('english', {text})", "strip({tsvector})"],
    "int4range": ["int4range({integer}, null)", "{int4range} * int4range(0, 9)", "int4range({integer}, {integer} + 2000000)"],
    "inet": ["{inet}", "network({inet})::inet"],
    "mood": ["coalesce({mood}, 'ok')", "greatest({mood}, {mood})"],
    "pair": ["row({integer}, {text})::pair"],
    "positive": ["(abs({integer}) + 1)::positive"],
    "word": ["left({text}, 20)::word"],
    "bytea": ["decode(md5({text}), 'hex')", "convert_to({text}, 'UTF8')"],
    "bit varying": ["({integer} & 255)::bit(8)::varbit(8)"],
    "real": ["({integer} % 100)::real"],
}

# What is not immutable, or has no collation without a column.
CHANGING = r"select|replace|split_part|string_to_array|position|like|citext\} = |initcap|upper|lower.\{text|convert_to|to_jsonb|jsonb_build|to_char|(date|mood|pair|\[\]|range)\}::text|concat_ws|array_to_string|mood\[\]|timestamp|interval"

# Conditions on a value of a kind, as indexes may answer them.
ASKS = {
    "integer": ["{0} between 1 and {integer}", "{0} in (1, 3, 5, {integer})", "{0} = any ({integer[]})", "{0} % 2 = 0", "{0} <> all (array[1, 2, {integer}])"],
    "text": ["{0} like 'a%'", "{0} ilike '%B%'", "{0} ~ '^[a-m]'", "{0} % 'hello'", "{0} like '%ell%'", "lower({0}) = lower({text})", "{0} ~* 'to'", "{0} not like '%a%'", "starts_with({0}, 'a')"],
    "citext": ["{0} like 'a%'", "{0} = 'AB'", "{0} in ('a', 'HELLO')", "{0} ~ 'h'", "{0} = {text}::citext"],
    "integer[]": ["{0} @> {integer[]}", "{0} && {integer[]}", "{0} <@ {integer[]}", "1 = any ({0})", "{0} @> array[{integer}]", "3 < all ({0})"],
    "text[]": ["{0} @> array['a']", "{0} && array['a', {text}]", "'a' = any ({0})"],
    "jsonb": ["{0} @> '{{\"a\": 1}}'", "{0} ? 'a'", "{0} ?| array['a', 'x']", "{0} @> {jsonb}", "{0} <@ {jsonb}", "{0} @? '$.b[*] ? (@ > 1)'"],
    "hstore": ["{0} ? 'a'", "{0} @> 'a=>1'", "{0} ?& array['a', 'b']", "{0} @> {hstore}", "{0} -> 'a' = '1'"],
    "tsvector": ["{0} @@ to_tsquery('english', 'fox')", "{0} @@ 'a & b'::tsquery", "{0} @@ to_tsquery('simple', 'tom | quick:*')"],
    "int4range": ["{0} && {int4range}", "{0} @> 3", "{0} @> {int4range}", "isempty({0})", "{0} -|- {int4range}", "{0} << int4range(5, 9)"],
    "daterange": ["{0} && daterange('2024-01-01', '2024-12-31')", "{0} @> {date}"],
    "int4multirange": ["{0} && {int4range}", "{0} @> {integer}"],
    "inet": ["{0} << '10.0.0.0/8'::inet", "family({0}) = 4", "{0} >>= {inet}"],
    "mood": ["{0} > 'sad'", "{0} = any ('{{ok,mad}}')", "{0} in ('sad', 'glad')"],
    "pair": ["({0}).n > 1", "{0} is null", "{0} is not null", "{0} is distinct from {pair}"],
    "date": ["{0} >= '2024-01-01'", "extract(month from {0}) = 2", "{0} between '2000-01-01' and {date}"],
    "boolean": ["{0}", "not {0}", "{0} is not true", "{0} is unknown"],
    "timestamp without time zone": ["{0} > '2024-01-01'", "{0} < {date}"],
    "numeric": ["{0} > {integer}", "{0} in (1.5, 2)", "{0} between -1 and 10"],
    "double precision": ["{0} > {integer}", "{0} = 'NaN'", "{0} < 2"],
    "character": ["{0} = 'ab'", "{0} = {text}::char(5)", "{0} like 'ab%'"],
    "character varying": ["{0} = {text}", "{0} like 'a_c'", "{0} > 'b'"],
}

# Operator classes that a gin index can have for a kind, "" for the default one.
INVERTED = {"integer[]": [""], "text[]": [""], "jsonb": ["", "jsonb_path_ops"], "hstore": [""], "tsvector": [""], "text": ["gin_trgm_ops", ""], "mood[]": [""], "integer": [""], "date": [""]}
