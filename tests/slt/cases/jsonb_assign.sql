create table docs (n int primary key, doc jsonb, list int[])
insert into docs values (1, '{}'), (2, '{"a": [1, {"b": 2}]}'), (3, null), (4, '5'), (5, '[0, 1]')
update docs set doc['a'] = '1' where n = 1
update docs set doc['a'][1]['b'] = '"x"' where n = 2
update docs set doc['a']['b'] = '1' where n = 3
select * from docs order by n
update docs set doc['k'] = '1' where n = 4
update docs set doc['k'] = '1' where n = 5
update docs set doc[-3] = '1' where n = 5
update docs set doc[-1] = '"last"', doc[4] = '"far"' where n = 5
update docs set doc['new'][2]['z'] = 'null', doc['b'] = '[]' where n = 1
update docs set doc['a'][0]['q'] = '1' where n = 2
update docs set doc['a'][null] = '1' where n = 2
update docs set doc['a'] = 1 where n = 2
update docs set doc['a'] = to_jsonb(n), doc[true] = '1' where n = 2
update docs set doc['a':'b'] = '1' where n = 2
update docs set doc['a'] = null where n = 1
update docs set doc['a'] = default where n = 1
update docs set doc['x'] = to_jsonb(n + 1) where n < 3
update docs set doc = null where n = 3
update docs set doc[2] = '1' where n = 3
update docs set n['a'] = '1' where n = 3
update docs set doc['1'] = '"text"' where n = 5
update docs set doc[1.5] = '1' where n = 5
update docs set (doc['p'], list) = ('7', '{1}') where n = 1
select * from docs order by n
do $$ declare v jsonb := '{"a": 1}'; w jsonb; i int := 1; begin v['b'] := '[]'; v['b'][i] := to_jsonb(i); v['c']['d'] := '"x"'; w[i] := '2'; raise exception '% %', v, w; end $$
do $$ declare v jsonb := '1'; begin v['b'] := '2'; end $$
do $$ declare v jsonb; begin v[null] := '2'; end $$
drop table docs
