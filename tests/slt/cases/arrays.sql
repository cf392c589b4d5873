select array_append(array[1,2], 3), array_prepend(0, array[1]), array_cat(array[1], array[2,3]), array_remove(array[1,2,1], 1), array_replace(array[1,2,1], 1, 9), array_position(array['a','b'], 'b'), array_positions(array[1,2,1], 1)
select array_length(array[1,2,3], 1), array_length('{}'::int[], 1), array_upper(array[1,2], 1), array_lower(array[1,2], 1), cardinality(array[1,2,3]), array_ndims(array[1]), array_dims(array[1,2,3])
select array_to_string(array[1,null,3], ','), array_to_string(array[1,null,3], ',', '*'), string_to_array('a,b,,c', ','), string_to_array('abc', null), string_to_array('a,b', ',', 'b'), string_to_array('', ',')
select array[1,2] || array[3], array[1,2] || 3, 0 || array[1], array[1,2,3] @> array[2], array[1] <@ array[1,2], array[1,2] && array[2,3], array[1,2] = array[1,2], array[1,2] < array[1,3]
select 1 = any(array[1,2]), 3 = all(array[3,3]), 2 > any(array[1,5]), 'a' = any('{a,b}'), null = any(array[1]), 1 = any('{}'::int[]), 1 <> all(array[2,3])
select * from unnest(array[1,2,3]) with ordinality
select * from unnest(array['a','b'], array[1,2,3]) with ordinality as t(x, y, n)
select x, n from unnest(array['p','q']) with ordinality as t(x, n) order by n desc
select unnest(array[1,2]), unnest(array['a','b','c'])
select array_agg(x order by x desc), array_agg(distinct x), array_agg(x) filter (where x > 1), string_agg(x::text, ',' order by x) from (values (2),(1),(3),(1)) v(x)
select string_agg(distinct x, '-' order by x) from (values ('b'),('a'),('b')) v(x)
select array(select x from (values (3),(1)) v(x) order by x)
select trim_array(array[1,2,3], 1), array_fill(7, array[3])
select trim_array(array[1], 5)
select (array[1,2,3])[2], (array[1,2,3])[2:3], (array[1,2,3])[5], (array[1,2,3])[:2]
select array[1.5, 2], array['a', 'b c', 'd"e', null, 'null', ''], array[true,false], array[date '2024-01-01'], array['\x01'::bytea], array[1.5::real], array['ab'::char(3)]
select '{1,2,null}'::int[], '{"a b",c,"d\"e",NULL,"NULL"}'::text[], '{}'::text[], '{ 1 , 2 }'::int[]
select '{1,2'::int[]
select '{1,x}'::int[]
select array[]::int[], array[1,2]::text[], array['1','2']::int[], array[1,2]::numeric[]
select array[1,null] is null, array[null]::int[], cardinality(null::int[])
select generate_subscripts(array['a','b','c'], 1)
select * from generate_subscripts(array['a','b','c'], 1, true)
select * from generate_series(1, 5, 2)
select * from generate_series(5, 1, -2)
select * from generate_series(1, 3) with ordinality
select * from generate_series(1.0, 2.0, 0.5)
select * from generate_series(1.5, 3)
select * from generate_series(timestamp '2024-01-01', timestamp '2024-01-03', interval '1 day')
select * from generate_series(timestamp '2024-01-31', timestamp '2024-04-30', '1 month')
select * from generate_series(date '2024-01-01', date '2024-01-03', '1 day')
select * from generate_series('2024-03-30 12:00+00'::timestamptz, '2024-03-30 18:00+00', '3 hours') as g
select g::date from generate_series(timestamp '2024-01-01', timestamp '2024-01-02', '12 hours') g
select generate_series(1, 3) as n, 'x'
select generate_series(1, 2) * 10
select * from generate_series(1, 5, 0)
select count(*) from generate_series(1, 1000)
select * from string_to_table('a,b', ',')
select * from regexp_split_to_table('a1b22c', '[0-9]+')
select * from regexp_matches('foobarbequebaz', '(b.r)(b..)')
select regexp_matches('a1b2', '([a-z])([0-9])', 'g')
select * from regexp_matches('abc', 'x')
select bool_and(x > 0), bool_or(x > 2), every(x > 1), bit_and(x), bit_or(x), bit_xor(x) from (values (1),(2),(3)) v(x)
select stddev(x), stddev_pop(x), stddev_samp(x), variance(x), var_pop(x), var_samp(x) from (values (1),(2),(4)) v(x)
select stddev(x), stddev_pop(x), variance(x), var_pop(x) from (values (1.5),(2.25),(4)) v(x)
select stddev(x), stddev_pop(x), variance(x), var_pop(x) from (values (1.5::float8),(2.25),(4)) v(x)
select stddev(x), var_pop(x), stddev_pop(x) from (values (1)) v(x)
select stddev(x), var_pop(x) from (values (null::int)) v(x)
select corr(y, x), covar_pop(y, x), covar_samp(y, x) from (values (1::float8, 2::float8),(2,4.5),(3,5),(null,7)) v(x, y)
select count(*) filter (where x > 1), sum(distinct x), avg(x), min(x), max(x) from (values (1),(2),(2)) v(x)
create table at (id int primary key, a int[], t text[])
insert into at values (1, '{1,2}', '{a,b}'), (2, '{}', null), (3, null, '{c}')
select id from at where 1 = any(a)
select id, cardinality(a), t[1] from at order by id
select id, x from at, unnest(a) as x order by id, x
update at set a = a || 3 where id = 1
select a from at order by id
select id from at order by a, id
