select '{"a":1,"b":[1,2,3],"c":{"d":"x"}}'::jsonb, '{"a" : 1}'::json
select '{"bb":1, "a":2, "a":3, "c":1.50, "d":1e3}'::jsonb, '[1, null, true, "\u00e4\n"]'::jsonb, '  [ ]  '::jsonb, '{}'::jsonb
select '{"a":}'::jsonb
select '{"a":1'::json
select ''::json
select 'nul'::jsonb
select '01'::jsonb
select '"\u0000"'::jsonb
select '"\u0000"'::json
select '"\ud83d\ude00"'::jsonb, '"\u00e9"'::json
select '{"a":1,"b":{"c":"x"}}'::jsonb -> 'a', '{"a":1,"b":{"c":"x"}}'::jsonb -> 'b' -> 'c', '{"a":1,"b":{"c":"x"}}'::jsonb -> 'b' ->> 'c', '{"a":null}'::jsonb ->> 'a', '{"a":null}'::jsonb -> 'a'
select '[1,"b",{"x":2}]'::jsonb -> 0, '[1,"b",{"x":2}]'::jsonb -> -1, '[1,"b"]'::jsonb ->> 1, '[1]'::jsonb -> 5, '{"a":1}'::jsonb -> 0, '[1]'::jsonb -> 'a'
select '{"a": {"x":  1} , "b":[1,  2]}'::json -> 'a', '{"a": {"x":  1} , "b":[1,  2]}'::json -> 'b', '{"a":1,"a":2}'::json -> 'a', '[1,  2, "x"]'::json ->> 2
select '{"a":{"b":[10,20]}}'::jsonb #> '{a,b,1}', '{"a":{"b":[10,20]}}'::jsonb #>> '{a,b,0}', '{"a":{"b":[10,20]}}'::jsonb #> '{a,x}', '{"a":{"b":[10,20]}}'::json #> '{a,b}', '{"a":{"b":["q"]}}'::json #>> '{a,b,0}', '[1]'::jsonb #> '{}'
select '{"a":1,"b":2}'::jsonb @> '{"a":1}', '[1,2,3]'::jsonb @> '[3,1]', '[1,2]'::jsonb @> '1', '{"a":{"b":1,"c":2}}'::jsonb @> '{"a":{"b":1}}', '{"a":[1,2]}'::jsonb @> '{"a":[2]}', '1'::jsonb @> '[1]', '[[1,2]]'::jsonb @> '[1]', '{"a":1}'::jsonb <@ '{"a":1,"b":2}'
select '{"a":1}'::jsonb ? 'a', '["a","b"]'::jsonb ? 'b', '"a"'::jsonb ? 'a', '{"a":1}'::jsonb ? 'b', '{"a":1,"b":2}'::jsonb ?| array['x','b'], '{"a":1,"b":2}'::jsonb ?& array['a','b'], '[1]'::jsonb ? '1'
select '{"a":1}'::jsonb || '{"b":2}', '{"a":1}'::jsonb || '{"a":3}', '[1]'::jsonb || '[2]', '[1]'::jsonb || '2', '1'::jsonb || '2', '{"a":1}'::jsonb || '[1]', '[]'::jsonb || '{}'
select '{"a":1,"b":2}'::jsonb - 'a', '["a","b","a"]'::jsonb - 'a', '[1,2,3]'::jsonb - 1, '[1,2,3]'::jsonb - -1, '[1]'::jsonb - 9, '{"a":1,"b":2,"c":3}'::jsonb - '{a,c}'::text[], '{"a":{"b":1,"c":2}}'::jsonb #- '{a,b}', '[1,[2,3]]'::jsonb #- '{1,0}'
select '1'::jsonb - 'a'
select '{"a":1}'::jsonb - 1
select '1'::jsonb #- '{a}'
select jsonb_set('{"a":1}', '{a}', '2'), jsonb_set('{"a":1}', '{b}', '2'), jsonb_set('{"a":1}', '{b}', '2', false), jsonb_set('{"a":[1,2]}', '{a,0}', '9'), jsonb_set('{"a":[1,2]}', '{a,9}', '9'), jsonb_set('{"a":[1,2]}', '{a,-9}', '9'), jsonb_set('{"a":{"b":{}}}', '{a,b,c}', '[1]'), jsonb_set('{"a":1}', '{x,y}', '2')
select jsonb_set('1', '{a}', '2')
select jsonb_set('[1]', '{a}', '2')
select jsonb_insert('[1,2]', '{0}', '9'), jsonb_insert('[1,2]', '{0}', '9', true), jsonb_insert('{"a":1}', '{b}', '2'), jsonb_insert('[1,2]', '{-1}', '9'), jsonb_insert('[1,2]', '{5}', '9')
select jsonb_insert('{"a":1}', '{a}', '2')
select jsonb_build_object('a', 1, 'b', 'x', 'c', null, 'd', array[1,2], 'e', now() is null, 'f', 1.50), jsonb_build_array(1, 'a', null, true, 1.5, '{"a":1}'::jsonb, '{"x" : 1}'::json), jsonb_build_object(), jsonb_build_array()
select json_build_object('a', 1, 'b', 'x', 'c', null, 'd', array[1,2], 'e', '{"x" :  1}'::json, 'f', '{"y":1}'::jsonb), json_build_array(1, 'a', null, true, '[1,  2]'::json), json_build_object(), json_build_array()
select jsonb_build_object('a')
select jsonb_build_object(null, 1)
select json_build_object(1, 2, true, 3, date '2024-01-01', 4)
select to_jsonb(1), to_jsonb('a'::text), to_jsonb(1.50), to_jsonb(true), to_jsonb(null::int), to_jsonb(array[1,2,null]), to_jsonb(array['a','b']), to_jsonb(date '2024-01-02'), to_jsonb(timestamp '2024-01-02 03:04:05.5'), to_jsonb(timestamptz '2024-01-02 03:04:05+00'), to_jsonb(interval '1 day'), to_jsonb(1.5::float8), to_jsonb('NaN'::float8), to_jsonb('{"a": 1}'::json), to_jsonb('{"a": 1}'::jsonb)
select to_json(1), to_json('a"b'::text), to_json(array[1,2]), to_json(timestamptz '2024-01-02 03:04:05+00'), to_json('{"a" :  1}'::json), to_json('[1,2]'::jsonb), to_json(time '10:00'), to_json('\x0102'::bytea), array_to_json(array[1,2])
select to_json('a')
select jsonb_typeof('1'), jsonb_typeof('"a"'), jsonb_typeof('null'), jsonb_typeof('[]'), jsonb_typeof('{}'), jsonb_typeof('true'), json_typeof('1.5'), json_typeof(' {} ')
select jsonb_array_length('[1,2,3]'), json_array_length('[]')
select jsonb_array_length('{}')
select json_array_length('1')
select jsonb_pretty('{"a":[1,2,{"b":null}],"c":{},"d":[]}')
select jsonb_strip_nulls('{"a":null,"b":{"c":null,"d":1},"e":[null,1]}'), json_strip_nulls('{"a":null, "b": {"c":null}, "d":[null, {"x":null}]}')
select jsonb_extract_path('{"a":{"b":1}}', 'a', 'b'), jsonb_extract_path_text('{"a":{"b":"x"}}', 'a', 'b'), json_extract_path('{"a":{"b":1}}', 'a'), json_extract_path_text('{"a":["x"]}', 'a', '0')
select jsonb_object('{a,1,b,2}'), jsonb_object('{a,b}', '{1,null}'), json_object('{a,1,b,2}'), json_object(array['a','b'], array['x','y'])
select jsonb_object('{a}')
select * from jsonb_array_elements('[1,"a",{"b":2},null]')
select value from jsonb_array_elements('[1,2]')
select e from jsonb_array_elements('[1,2]') e
select e->>'a' from jsonb_array_elements('[{"a":1},{"a":2}]') as e
select * from jsonb_array_elements_text('["a",1,null]') with ordinality
select t.v, t.n from jsonb_array_elements_text('["a","b"]') with ordinality as t(v, n) order by n desc
select * from json_array_elements('[1, {"a" :  2}]')
select * from json_array_elements_text('["x", null]')
select * from jsonb_array_elements('{}')
select * from jsonb_array_elements('1')
select * from jsonb_each('{"a":1,"b":{"c":2}}')
select key, value from jsonb_each_text('{"b":null,"a":"x"}') order by key
select * from json_each('{"b":1, "a":[1,  2]}')
select * from json_each_text('{"b":"q"}') as t(k, v)
select * from jsonb_each('[1]')
select * from jsonb_object_keys('{"b":1,"a":2}')
select json_object_keys('{"b":1,"a":2,"b":3}')
select jsonb_array_elements('[1,2]'), 5
select jsonb_array_elements('[{"a":1},{"a":2}]') ->> 'a' as x
select jsonb_agg(x), jsonb_agg(x order by x desc), json_agg(x) from (values (1),(2),(null)) v(x)
select json_agg(x), jsonb_agg(x) from (values (1)) v(x) where x > 5
select json_agg(array[x]), json_agg(jsonb_build_object('a', x)), json_agg('{"q":  1}'::json) from (values (1),(2)) v(x)
select json_object_agg(k, v), jsonb_object_agg(k, v) from (values ('b', 1), ('a', 2), ('b', 3)) t(k, v)
select jsonb_object_agg(null, 1)
select jsonb_object_agg(x, x * 2) filter (where x > 1) from (values (1),(2),(3)) v(x)
create table jt (id int primary key, data jsonb, doc json, tags text[])
insert into jt values (1, '{"name":"ann","age":30,"langs":["en","de"]}', '{"z": 1,  "a": 2}', '{x,y}'), (2, '{"name":"bob","age":25}', '[1]', null), (3, null, null, '{}')
select id, data->>'name', (data->>'age')::int + 1 from jt order by id
select id from jt where data @> '{"name":"bob"}'
select id from jt where data->>'name' = 'ann' and (data->'age')::int > 20
select id from jt where data ? 'langs'
select id, l from jt, jsonb_array_elements_text(data->'langs') l order by id, l
select row_to_json(jt) from jt order by id
select to_jsonb(jt) from jt order by id
select jsonb_agg(jt order by id) from jt
select json_agg(jt order by id) from jt
select row_to_json(r) from (select id, data->>'name' as name from jt where id < 3) r order by id
select row_to_json(row(1, 'a', null))
update jt set data = jsonb_set(data, '{age}', '31') where id = 1
update jt set data = data || '{"x":1}' where id = 2
select id, data from jt order by id
select data->'age' as a, count(*) from jt group by 1 order by 1
select distinct data->>'name' as n from jt order by 1
select id from jt order by data, id
select data from jt where data is not null order by data desc
create table jk (k jsonb primary key)
insert into jk values ('1'), ('"a"'), ('null'), ('[1]'), ('{"a":1}'), ('true'), ('[]'), ('1.50')
insert into jk values ('1.0')
select k from jk order by k
select k from jk where k = '1.5'
select k from jk where k > '1' order by k
select '1'::jsonb = '1.0'::jsonb, '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}'::jsonb, '[1]'::jsonb < '[1,2]'::jsonb, '{"a":1}'::jsonb <> '{"a":2}'
select ('1'::jsonb)::int, ('1.5'::jsonb)::numeric, ('true'::jsonb)::bool, ('2.7'::jsonb)::int, ('1e2'::jsonb)::float8
select ('"a"'::jsonb)::int
select ('1'::jsonb)::bool
select '{"a":1}'::json::jsonb, '{"a":1}'::jsonb::json, '{"a":1}'::jsonb::text, '[1]'::text::jsonb
select '1'::json = '1'::json
select array['{"a":1}'::jsonb, '2'], '{"{\"a\":1}",2}'::jsonb[], array_agg(x::text::jsonb) from (values (1),(2)) v(x)
select coalesce(null::jsonb, '{}'), case when true then '1'::jsonb end, null::jsonb -> 'a', '{"a":1}'::jsonb -> null
select max(length(data::text)) from jt
select count(*) from jt, jsonb_each(data)
select id, k, v from jt, jsonb_each_text(data) as e(k, v) order by id, k
select id, (select count(*) from jsonb_object_keys('{"a":1}')) from jt order by id
