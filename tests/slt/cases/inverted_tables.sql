-- Indexes USING gin in tables of every kind, and whatever happens to such a table.
create table invt_p (k int, a int[], j jsonb) partition by range (k)
create table invt_p1 partition of invt_p for values from (0) to (10)
create table invt_p2 partition of invt_p for values from (10) to (20)
create index on invt_p using gin (a)
create index on invt_p using gin (j jsonb_path_ops)
insert into invt_p values (1, '{1,2}', '{"x": 1}'), (2, '{2}', '{"x": 2}'), (11, '{1}', '{"x": 1}'), (12, null, null)
select k from invt_p where a @> '{1}' order by k
select k from invt_p where j @> '{"x": 1}' order by k
select k from invt_p1 where a @> '{1}' order by k
update invt_p set k = k + 10 where a @> '{2}' and k = 2
update invt_p set k = 15, a = a || 7 where j @> '{"x": 1}' and k = 11
select tableoid::regclass, k, a from invt_p where a && '{2,7}' order by k
create index on invt_p1 using gin (a)
create index on invt_p1 using gin (j jsonb_path_ops)
alter table invt_p detach partition invt_p1
select k from invt_p1 where a @> '{1}' order by k
select k from invt_p where a @> '{1}' order by k
insert into invt_p1 values (3, '{1,9}', '{"x": 1}')
select k from invt_p1 where a @> '{9}' and j @> '{"x": 1}' order by k
alter table invt_p attach partition invt_p1 for values from (0) to (10)
select k from invt_p where a @> '{1}' order by k
select k from invt_p where a @> '{9}' order by k
drop table invt_p2
select k from invt_p where a @> '{1}' order by k
select k from invt_p where a && '{2,7}' order by k
create type invt_mood as enum ('sad', 'ok', 'glad')
create domain invt_list as int[] check (cardinality(value) < 5)
create table invt_k (id int primary key, m invt_mood[], l invt_list, i interval[], b bytea[], n numeric(6,2)[], j jsonb[], t time[], x text[])
create index on invt_k using gin (m, l, i, b, n, j, t)
insert into invt_k values (1, '{sad,ok}', '{1,2}', '{1 mon,2 days}', '{"\\x01","\\x"}', '{1.5,-2}', array['{"a": 1}', 'null']::jsonb[], '{10:00,24:00}'), (2, '{glad}', '{2}', '{30 days}', '{"\\x0100"}', '{0.00}', array['{"a": 1.0}']::jsonb[], '{}')
select id from invt_k where m @> '{ok}' order by id
select id from invt_k where m && array['glad', 'sad']::invt_mood[] order by id
select id from invt_k where l @> '{2}' order by id
select id from invt_k where i @> '{1 mon}' order by id
select id from invt_k where i @> '{48 hours}' order by id
select id from invt_k where b @> '{"\\x01"}' order by id
select id from invt_k where n @> '{0}' or n @> '{-2.00}' order by id
select id from invt_k where j @> array['{"a": 1}']::jsonb[] order by id
select id from invt_k where t <@ '{10:00,24:00,11:00}' order by id
create table invt_t (id int primary key, n int, a int[], j jsonb, g int[] generated always as (array[n, n + 1]) stored)
insert into invt_t select v, v % 5, array[v % 3, v], jsonb_build_object('k', v % 4, 'l', jsonb_build_array(v, 'w' || v % 2)) from generate_series(1, 40) v
create index if not exists invt_a on invt_t using gin (a)
create index if not exists invt_a on invt_t using gin (a)
create index invt_g on invt_t using gin (g)
create index invt_j on invt_t using gin (j jsonb_path_ops, (j -> 'l'))
alter table invt_t add column s text[] default '{x,y}'
create index invt_s on invt_t using gin (s)
update invt_t set s = '{z}' where id % 10 = 0
select count(*), sum(id) from invt_t where s @> '{x}'
select count(*), sum(id) from invt_t where s <@ '{z,w}'
select count(*), sum(id) from invt_t where g @> '{4}'
update invt_t set n = n + 10 where g @> '{4}'
select count(*), sum(id) from invt_t where g && '{13,14}'
select id from invt_t where j @> '{"l": ["w1"], "k": 3}' and a @> '{1}' order by id
select id from invt_t where j -> 'l' ? 'w0' and j -> 'l' @> '[4]' order by id
select id from invt_t where j -> 'l' @> '4' order by id
select id from invt_t where j @> '{"l": []}' and id < 3 order by id
select count(*) from invt_t where j @> '{"l": {}}'
select count(*) from invt_t x where exists (select from invt_t y where y.a @> array[x.id] and y.id <> x.id)
select count(*) from invt_t x left join invt_t y on y.a @> array[x.id + 39]
select x.id, y.id from invt_t x, lateral (select id from invt_t z where z.a @> array[x.n, x.id] order by id limit 1) y where x.id < 9 order by 1
select id from invt_t where id in (select id from invt_t where a @> '{0}' and j @> '{"k": 0}') order by id
select id from invt_t where a @> '{1}' and id > 20 union all select id from invt_t where a @> '{40}' order by 1
with gone as (delete from invt_t where a @> '{2}' and j @> '{"k": 2}' returning id) select count(*), min(id) from gone
select count(*) from invt_t where a @> '{2}' and j @> '{"k": 2}'
prepare invt_find (int[], jsonb) as select id from invt_t where a && $1 and j @> $2 order by id
execute invt_find ('{1,5}', '{"k": 1}')
execute invt_find ('{}', '{"k": 1}')
execute invt_find (null, '{"k": 1}')
execute invt_find ('{40,39,38}', '{}')
deallocate invt_find
begin
declare invt_c cursor for select id from invt_t where a @> '{1}' order by id
fetch 3 from invt_c
update invt_t set a = '{77}' where id in (1, 10)
delete from invt_t where id = 13
fetch 3 from invt_c
declare invt_d scroll cursor for select id from invt_t where a && '{77}'
fetch all from invt_d
fetch backward 1 from invt_d
rollback
select id from invt_t where a @> '{1}' and j @> '{"k": 1}' order by id for update
begin
truncate invt_t
insert into invt_t values (1, 1, '{5}', '{"k": 5}')
select id from invt_t where a && '{1,5}'
rollback
select count(*) from invt_t where a && '{1,5}'
alter table invt_t rename column a to aa
alter index invt_a rename to invt_aa
alter table invt_t rename to invt_u
select id from invt_u where aa @> '{40}'
alter table invt_u alter column j type json using j::json
alter table invt_u alter column j type int[] using array[id]
alter table invt_u alter column aa type jsonb using to_jsonb(aa)
select id from invt_u where aa @> '[40]' and aa @> '[1]'
select id from invt_u where aa @> '[1, 40]'
alter table invt_u alter column s type varchar(3)[]
select count(*) from invt_u where s @> '{y}' and s @> '{x}'::varchar[]
alter table invt_u alter column aa drop not null, add column more int default 5
select indexdef from pg_indexes where tablename = 'invt_u' order by 1
create table invt_child (id int primary key, up int references invt_u on delete cascade on update cascade, tags text[])
create index on invt_child using gin (tags)
insert into invt_child select v, v, array['t' || v % 3] from generate_series(1, 9) v where v % 4 <> 2
delete from invt_u where id in (1, 3)
update invt_u set id = 100 where id = 4
select id, up from invt_child where tags @> '{t1}' order by id
create materialized view invt_m as select id, s, aa from invt_u
create index on invt_m using gin (s, aa)
select count(*) from invt_m where s @> '{z}'
update invt_u set s = '{z}' where id = 5
refresh materialized view invt_m
select count(*) from invt_m where s @> '{z}'
create temp table invt_temp (a int[]) on commit delete rows
create index on invt_temp using gin (a)
begin
insert into invt_temp values ('{1}'), ('{2}')
select * from invt_temp where a @> '{2}'
commit
select * from invt_temp where a && '{1,2}'
create function invt_add() returns trigger language plpgsql as $$ begin new.tags := array_append(new.tags, 'added'); return new; end $$
create table invt_w (id int primary key, tags text[])
create index on invt_w using gin (tags)
create trigger invt_adds before insert or update on invt_w for each row execute function invt_add()
insert into invt_w values (50, '{p}')
update invt_w set id = 51 where id = 50
select id, tags from invt_w where tags @> '{added}'
insert into invt_w values (51, '{q}') on conflict (id) do update set tags = excluded.tags
select id, tags from invt_w where tags && '{q,p}'
reindex index invt_aa
cluster invt_u using invt_aa
alter table invt_u drop column s cascade
select indexname from pg_indexes where tablename = 'invt_u' order by 1
drop index invt_g
update invt_u set n = 3 where id = 7
drop table invt_p, invt_k, invt_child, invt_w, invt_temp
drop table invt_u
drop function invt_add
drop type invt_mood
drop domain invt_list
create table invt_long (id int primary key, t text[], j jsonb)
create index on invt_long using gin (t, j)
create index on invt_long using gin (j jsonb_path_ops)
insert into invt_long values (1, array[repeat('a', 5000), 'b'], jsonb_build_object(repeat('k', 3000), repeat('v', 4000), 'n', 1e2)), (2, array[repeat('a', 5001)], '{"\u00e9\"\\": "\ud83d\ude00", "n": [1, [2, [[]]], {}]}'), (3, array_fill('c'::text, array[500]), jsonb_build_object('n', -0.0, 'd', '{}'::jsonb))
select id from invt_long where t @> array[repeat('a', 5000)]
select id from invt_long where t && array[repeat('a', 5001), 'c']
select id from invt_long where j ? repeat('k', 3000)
select id from invt_long where j @> jsonb_build_object(repeat('k', 3000), repeat('v', 4000))
select id from invt_long where j @> '{"n": 100.00}'
select id from invt_long where j @> '{"é\"\\": "😀"}'
select id from invt_long where j ? 'é"\'
select id from invt_long where j @> '{"n": [[2]]}'
select id from invt_long where j @> '{"n": [{}, [[[]]]]}'
select id from invt_long where j @> '{"n": 0}'
select id from invt_long where j @> '{"d": {}}'
select id from invt_long where t @> array_fill('c'::text, array[40])
select id from invt_long where t @> (select array_agg(v::text) from generate_series(1, 40) v)
select id from invt_long where t && (select array_agg(v::text) || 'b'::text from generate_series(1, 2000) v)
drop table invt_long
create table invt_c (id int primary key, t varchar(5)[] collate "C", j jsonb, n int[])
create index invt_c1 on invt_c using gin (t, j jsonb_path_ops, n) where id > 5
create index invt_c2 on invt_c using gin ((j -> 'a'), n)
create index invt_c3 on invt_c (id, j)
select attrelid::regclass, attname, atttypid::regtype, atttypmod, attlen, attbyval, attnum from pg_attribute where attrelid in ('invt_c1'::regclass, 'invt_c2'::regclass, 'invt_c3'::regclass) order by 1, 7
create index on invt_c using gin (n asc)
create index on invt_c using gin (n nulls first)
create index on invt_c using hash (id asc)
create index on invt_c using brin (id nulls last)
create index on invt_c using gin (n) nulls not distinct
drop table invt_c
