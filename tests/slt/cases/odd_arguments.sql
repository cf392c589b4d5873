-- Arguments that few give.
select ('123'::jsonb)[0], ('123'::jsonb)['a'], ('[1, "2", null]'::jsonb)['1'], ('[1, "2", null]'::jsonb)[1][0], ('[1, "2", null]'::jsonb)['-1'], ('[1, "2", null]'::jsonb)[-1], ('[1, "2", null]'::jsonb)['a'], ('{"1":5}'::jsonb)[1], ('{"1":{"a":[1,2]}}'::jsonb)[1]['a'][-1], ('[1]'::jsonb)[null]
select width_bucket(5, array[3, 4, null])
select json_object('{{a},{b}}')
select json_object('{{a,b,c},{b,c,d}}')
select jsonb_object('{{{a,b},{c,d}},{{b,c},{d,e}}}')
select json_object('{{a,b}}', '{{b,c}}')
select json_object('{}'), json_object('{{a,b},{c,d}}'), jsonb_object('{}', '{}'), jsonb_object('{a,b}', '{1,null}')
select json_object('{}', '{a}')
select date_bin('15 minutes'::interval, timestamp '294276-12-30', timestamp '4000-12-20 BC')
select date_bin('200000000 days'::interval, '2024-02-01'::timestamp, '2024-01-01'::timestamp)
select date_bin('1 month', timestamp '2024-02-01', timestamp 'infinity')
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '2')
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '+2'), make_timestamptz(1973, 07, 15, 08, 15, 55.33, '-2:30'), make_timestamptz(1973, 07, 15, 08, 15, 55.33, 'EST')
select make_timestamptz(2014, 12, 10, 10, 10, 10, '+16')
select timestamp '0044-03-15 12:00:00 BC' at time zone 'EST'
select timestamp '2024-03-15 12:00:00' at time zone '04:30', timestamp '2024-03-15 12:00:00' at time zone '-00:30'
select date_trunc('dow', timestamp '2024-01-01')
select date_trunc('isoyear', interval '1 year')
select date_trunc('timezone', timestamp '2024-01-01')
select date_trunc('doy', timestamp 'infinity')
select json '{ "a":  "null \u0000 escape" }' ->> 'a'
select json '{ "a":  "dollar \u0000" }' -> 'a'
select to_regrole('foo.bar')
select to_regnamespace('foo.bar')
select decode('61', 'base64')
select decode('YWI', 'base64')
select decode('YW==', 'base64'), decode('YWI=', 'base64'), decode(E'YW\nJj', 'base64')
select decode('Y=Jj', 'base64')
select regexp_match('日本語', '[[:alpha:]]+'), 'É' ~ '[[:upper:]]', 'é' ~ '^[[:lower:]]$', 'x、y' ~ '[[:punct:]]', 'ß1' ~ '^[[:alnum:]]+$', '日' ~ '[^[:alpha:]]', '日本' ~ '^[[:print:]]+$', '٣' ~ '[[:digit:]]'
select 1e10::numeric ^ 1.5::numeric, 100::numeric ^ 1.5::numeric, 100::numeric ^ 0.5::numeric, 2::numeric ^ 0.5, 10 ^ 2.5::numeric, 0.001 ^ 1.5
select to_char(interval '-1 month', 'RM rm'), to_char(interval '-13 month', 'RM'), to_char(interval '12 months', 'RM'), to_char(interval '-24 months', 'RM'), to_char(interval '1 year -1 month', 'RM'), to_char(interval '1 day', 'RM')
select grouping(a) from (values (1)) v (a) group by rollup (a) order by 1
select (x + y) * 1, sum(z) from (select 1 as x, 2 as y, 3 as z) s group by grouping sets (x + y, x)
select x, 1 as one, count(*) from (select 1 as x) s group by rollup (x) order by 1
select * from (select 1 into f) bar
call pg_sleep(0)
create table odd_generated (a int, b int generated always as (a * 2) stored)
copy odd_generated (a, b) to stdout
create table odd_generated_too (a int, b int generated always as ((select a)) stored)
drop table odd_generated
select (1, 2) <> any (values (1, 2), (1, null)), (1, 2) = all (values (1, 2), (1, 2)), (1, 2) = all (values (1, 2), (1, null)), (1, null) <> any (values (1, 2)), (1, 2) < any (values (1, 3)), row(3) >= all (values (1), (2))
select x, x like any (select p from (values ('a%'), ('%b'), (null)) v (p)), x not like all (select p from (values ('a%'), ('%b')) v (p)), x ~ any (select p from (values ('^c'), ('b$')) v (p)), x || 'z' ilike any (select 'CZ') from (values ('abc'), ('xb'), ('c'), (null)) w (x) order by x
select (1, 2) <> any (select 1)
select (1, 2) <> any (select 1, 2, 3)
select generate_series(1, 3) over ()
select count(*) from generate_series(1.5, 3.5, 0.5) g
select t.a from (values (1, 2)) t (a, b) where (a, b) <> all (select a, 3 from (values (1)) u (a)) and (a, b) <> any (select 1, 1)
