-- WITH queries that change rows: every part sees the state in which the statement began.
create table s(id int primary key, v text)
insert into s values (1,'one'),(2,'two'),(3,'three')
with made as (insert into s values (10, 'ten') returning id) update s set v = 'changed' where id = 1
select * from s order by id
with u as (update s set v = v || '!' where id < 3 returning *) select s.id, s.v, u.v as new from s left join u on s.id = u.id order by 1
with d as (delete from s where id = 2 returning *) insert into s select id, v || ' again' from d
with d as (delete from s where id = 2 returning *) insert into s select id + 20, v || ' again' from d union all select count(*) + 100, 'count' from s returning *
select * from s order by id
with a as (update s set v = 'x' where id < 3 returning id), b as (delete from s where id = 3 returning id) select (select count(*) from a), (select count(*) from b), (select count(*) from s), (select count(*) from s where v = 'x')
select * from s order by id
create view sv as select count(*) as n from s
with a as (insert into s values (500, 'v')) select n from sv
with a as (insert into s values (501, 'v') returning id) select n, id from sv, a
create function f() returns bigint language plpgsql as $$ declare n bigint; m int; begin with a as (insert into s values (600, 'f')) delete from s where id > 499; get diagnostics m = row_count; with b as (update s set v = 'two' returning id) select count(*) into n from s where v = 'two'; return n * 1000 + m; end $$
select f()
select * from s order by id
create function r() returns setof int language plpgsql as $$ declare q record; begin for q in with a as (delete from s where id > 599 returning id) select s.id, (select count(*) from a) as gone from s order by 1 loop return next q.id; return next q.gone; end loop; return query with a as (insert into s values (601, 'r')) select count(*)::int from s; end $$
select * from r()
with a as (insert into s values (1, 'dup')) select * from s
begin
with a as (insert into s values (700, 'x')) update s set v = 'y'
savepoint q
with a as (insert into s values (700, 'x')) update s set v = 'z'
rollback to q
select * from s order by id
with a as (delete from s) insert into s select id+1000, v from s where id < 3
select * from s order by id
with a as (update s set v = 'p' where id < 1002 returning id), b as (update s set v = 'q' where id not in (select id from a) returning id) select (select array_agg(id order by id) from a), (select array_agg(id order by id) from b), (select string_agg(v, ',' order by id) from s)
select * from s order by id
rollback
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3), i as (insert into s select n + 800, 'r' from t returning *) select count(*) from s, t
with i as (insert into s values (900, 'q') on conflict (id) do nothing returning *), j as (insert into s values (900, 'q') on conflict (id) do nothing returning *) select (select count(*) from i), (select count(*) from j), (select count(*) from s where id = 900)
select * from s order by id
create table log(id int, what text)
with gone as (delete from s where id > 700 returning id), noted as (insert into log select id, 'gone' from gone returning id), kept as (insert into log select id, 'kept' from s where id not in (select id from gone) returning id) select (select count(*) from noted), (select count(*) from kept), (select count(*) from log), (select count(*) from s)
select * from log order by 1
drop view sv
drop function f()
drop function r()
create table arr (id int primary key, tags text[], nums numeric(6,2)[], at timestamptz[], ch char(3)[], vc varchar(4)[], js jsonb[], f float8[], b bytea[], i int8[])
create table arr2 (like arr)
insert into arr values (1, '{a,"b,c",null,""}', '{1.5,2.25}', '{2026-01-02 03:04:05.678901+00}', '{ab,c}', '{wxyz}', array['{"a": [1, null]}', '"x"']::jsonb[], '{0.1,NaN,1e300}', array['\x00ff'::bytea], '{9223372036854775807}'), (2, '{}', null, null, null, null, null, null, null, null)
with moved as (delete from arr returning *) insert into arr2 select * from moved returning *
select * from arr
with new as (insert into arr (id, tags) values (3, '{p,q}') returning tags, tags[1] as first, array_length(tags, 1) as n) select tags, first, n, pg_typeof(tags) from new
with new as (update arr2 set ch = ch || '{z}'::char(3)[] where id = 1 returning ch, i) select ch, pg_typeof(ch), i[1] + 0 as i, length(ch[1]) from new
drop table arr
drop table arr2
