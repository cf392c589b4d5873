-- Indexes USING gin over arrays and jsonb: what they find, what is shown of them, and what they refuse.
create table inv_t (id int primary key, tags text[], nums int[], doc jsonb, done boolean default false)
insert into inv_t values (1, '{a,b}', '{1,2,3}', '{"a": 1, "b": {"c": ["x", "y"]}}'), (2, '{}', '{}', '{}'), (3, null, null, null), (4, '{b,NULL}', '{3,NULL}', '["a", "b", 1]'), (5, '{c,c}', '{7}', '"a"'), (6, '{"",a}', '{-1,1}', '{"a": 1.0, "b": null}'), (7, '{NULL}', '{NULL}', '[{"a": 1}, {"c": "x"}]'), (8, '{a,b,c}', '{1,2}', '{"b": {"c": ["y"]}, "d": true}')
create index inv_tags on inv_t using gin (tags)
create index on inv_t using gin (nums array_ops)
create index inv_doc on inv_t using gin (doc)
create index inv_path on inv_t using gin (doc jsonb_path_ops) where not done
create index inv_part on inv_t using gin ((doc -> 'b'))
create index inv_two on inv_t using gin (nums, doc jsonb_path_ops)
select id from inv_t where tags @> '{a}' order by id
select id from inv_t where tags @> '{a,b}' order by id
select id from inv_t where tags @> '{}' order by id
select id from inv_t where tags @> '{a,NULL}' order by id
select id from inv_t where tags && '{c,""}' order by id
select id from inv_t where tags && '{}' order by id
select id from inv_t where tags && '{NULL}' order by id
select id from inv_t where tags <@ '{a,b,c}' order by id
select id from inv_t where tags <@ '{}' order by id
select id from inv_t where tags = '{b,NULL}' order by id
select id from inv_t where tags = '{}' order by id
select id from inv_t where tags = '{c}' order by id
select id from inv_t where '{b}' <@ tags order by id
select id from inv_t where '{a,b,c}' @> tags order by id
select id from inv_t where 'a' = any (tags) order by id
select id from inv_t where tags @> null order by id
select id from inv_t where nums @> array[1] and nums && array[2,9] order by id
select id from inv_t where nums @> array[1] and tags @> array['b'] order by id desc
select id from inv_t where nums @> array[1] or nums @> array[7] order by id
select id from inv_t where not nums @> array[1] order by id
select id from inv_t where doc @> '{"a": 1}' order by id
select id from inv_t where doc @> '{"b": {"c": ["y"]}}' order by id
select id from inv_t where doc @> '{}' order by id
select id from inv_t where doc @> '[]' order by id
select id from inv_t where doc @> '"a"' order by id
select id from inv_t where doc @> '["a"]' order by id
select id from inv_t where doc @> '[{"a": 1}]' order by id
select id from inv_t where doc @> '{"b": null}' order by id
select id from inv_t where doc ? 'a' order by id
select id from inv_t where doc ? 'c' order by id
select id from inv_t where doc ?| '{d,a}' order by id
select id from inv_t where doc ?& '{a,b}' order by id
select id from inv_t where doc ?| '{}' order by id
select id from inv_t where doc ?& '{}' order by id
select id from inv_t where doc ?& '{a,NULL}' order by id
select id from inv_t where doc <@ '{"a": 1, "b": null, "z": 1}' order by id
select id from inv_t where doc @> '{"a": 1}' and not done order by id
select id from inv_t where doc -> 'b' @> '{"c": ["x"]}' order by id
select id from inv_t where doc -> 'b' ? 'c' order by id
select id from inv_t where doc @> '{"a": 1}' order by id desc limit 1
select count(*) from inv_t x join inv_t y on x.tags @> y.tags and x.doc @> y.doc
select x.id, (select string_agg(y.id::text, ',' order by y.id) from inv_t y where y.tags && x.tags) from inv_t x order by 1
update inv_t set tags = array_append(tags, 'z') where tags @> '{a}'
select id, tags from inv_t where tags @> '{z}' order by id
update inv_t set doc = doc || '{"n": 5}' where doc ? 'b' and jsonb_typeof(doc) = 'object'
select id, doc from inv_t where doc @> '{"n": 5}' order by id
update inv_t set id = id + 10 where tags @> '{z,b}'
select id from inv_t where tags @> '{b}' order by id
delete from inv_t where doc @> '{"n": 5}' and nums @> '{3}'
select id from inv_t where doc ? 'n' order by id
begin
insert into inv_t values (20, '{q}', '{9}', '{"q": [1, 2]}')
select id from inv_t where tags @> '{q}' and doc @> '{"q": [2]}'
savepoint s
update inv_t set tags = '{r}' where id = 20
select id from inv_t where tags && '{q,r}'
rollback to s
select id from inv_t where tags @> '{q}'
rollback
select id from inv_t where tags @> '{q}'
insert into inv_t values (8, '{u}', '{5}', '{"u": 1}') on conflict (id) do nothing
insert into inv_t values (6, '{u}', '{5}', '{"u": 1}') on conflict (id) do update set tags = excluded.tags, doc = excluded.doc
select id, tags from inv_t where tags @> '{u}' and doc ? 'u' order by id
select id from inv_t where doc @> '{"a": 1}' order by id
alter table inv_t alter column nums type bigint[] using nums::bigint[]
select id from inv_t where nums @> '{7}' order by id
select id from inv_t where nums @> array[7::bigint] order by id
truncate inv_t
select count(*) from inv_t where tags && '{a,b,u}'
select indexname, indexdef from pg_indexes where tablename = 'inv_t' order by 1
select c.relname, a.amname from pg_class c join pg_am a on a.oid = c.relam where c.relname like 'inv\_%' and c.relkind = 'i' order by 1
select c.relname, o.opcname, o.opcdefault, o.opckeytype from pg_index i join pg_class c on c.oid = i.indexrelid join pg_opclass o on o.oid = any (i.indclass) where c.relname like 'inv\_%' and c.relam = 2742 order by 1, 2
select oid, opcname, opcfamily, opcintype, opcdefault, opckeytype from pg_opclass where opcmethod = 2742 and opcname <> 'tsvector_ops' order by 1
select oid, amname, amtype from pg_am where amname = 'gin'
select p, pg_index_column_has_property('inv_two'::regclass, 1, p) from unnest('{asc,orderable,returnable,search_array,search_nulls,distance_orderable}'::text[]) p
select p, pg_index_has_property('inv_two'::regclass, p) from unnest('{clusterable,index_scan,bitmap_scan,backward_scan}'::text[]) p
select p, pg_indexam_has_property(2742, p) from unnest('{can_order,can_unique,can_multi_col,can_exclude,can_include}'::text[]) p
create table inv_like (like inv_t including all)
select indexdef from pg_indexes where tablename = 'inv_like' order by 1
insert into inv_like values (1, '{a}', '{1}', '{"a": 1}')
select id from inv_like where tags @> '{a}' and doc @> '{"a": 1}'
create index on inv_t using gin (id)
create unique index on inv_t using gin (tags)
create index on inv_t using gin (tags desc)
create index on inv_t using gin (tags) include (id)
create index on inv_t using gin (tags jsonb_ops)
create index on inv_t using gin (doc array_ops)
create index on inv_t using nothing (id)
drop index inv_tags
alter table inv_t drop column doc
select indexname from pg_indexes where tablename = 'inv_t' order by 1
create table inv_kinds (id int primary key, c char(3)[], v varchar(5)[], n numeric[], f float8[], d date[], u uuid[], b bool[], s timestamptz[])
create index on inv_kinds using gin (c, v, n, f, d, u, b, s)
insert into inv_kinds values (1, '{a,"b "}', '{x}', '{1.0,2}', '{NaN,0}', '{2020-01-01}', '{00000000-0000-0000-0000-000000000001}', '{t}', '{2020-01-01 00:00+00}')
select id from inv_kinds where c @> '{"b  "}'::char(3)[] and v @> '{x}' and n @> '{1.00}'
select id from inv_kinds where f @> '{NaN}' and f && '{-0}' and d @> '{2020-01-01}'
select id from inv_kinds where u @> '{00000000-0000-0000-0000-000000000001}' and b <@ '{t,f}' and s && '{2020-01-01 01:00+01}'
drop table inv_t, inv_like, inv_kinds
