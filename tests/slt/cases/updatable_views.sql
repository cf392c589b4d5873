create table uv_t (id int primary key, a int default 5, b text default 'x', c int generated always as (a * 2) stored)
create view uv_1 as select id, a, b, c, a + 1 as e from uv_t where a > 0 with check option
create view uv_2 as select id as k, e, a from uv_1 where a < 100
create view uv_3 as select id as k, id as k2, a from uv_t
insert into uv_1 (id, a) values (1, 0)
insert into uv_1 (id, a) values (1, null)
insert into uv_1 (id, a) values (1, 1)
insert into uv_1 (id, c) values (2, 3)
insert into uv_1 (id, e) values (2, 3)
insert into uv_1 values (2, 3, 'a', default, default)
insert into uv_1 values (2, 3, 'a', default)
insert into uv_1 values (2, 3, 'a', default, 1, 1)
insert into uv_1 (id) values (3) returning *
insert into uv_1 (id) values (4), (5) returning id, a, b, c, e, e * 2 as twice
insert into uv_1 (id, b) select id + 10, b || '!' from uv_1 where id < 3
insert into uv_1 (id, a) values (6, default), (7, 8)
insert into uv_1 (id, id) values (6, 7)
insert into uv_1 default values
update uv_1 set b = default where id = 1 returning *
update uv_1 set a = default where id = 1
update uv_1 set c = 1
update uv_1 set e = 1
update uv_2 set e = 1
update uv_1 set a = e + 10 where e = 2 returning id, a, e
update uv_1 set a = -1 where id = 1
update uv_1 as v set b = v.b || v.e where v.id = 1 returning v.*
update uv_1 set b = other.b from uv_t other where other.id = uv_1.id + 1 and uv_1.id = 3 returning uv_1.id, other.id
update uv_1 set (a, b) = (select 50, 'fifty') where id = 2 returning a, b
update uv_1 set zz = 1
update uv_1 set id = 1 where zz = 1
insert into uv_2 (k, e) values (1, 2)
insert into uv_2 values (20)
insert into uv_2 (k, a) values (20, 150) returning *
insert into uv_2 (k, a) values (21, 0)
select k from uv_2 order by k
select id from uv_1 order by id
delete from uv_2 where k = 20
delete from uv_1 where id = 20 returning *
delete from uv_2 using uv_1 where uv_1.id = uv_2.k and uv_1.id = 15 returning k
insert into uv_3 values (1, 2, 3)
insert into uv_3 values (9)
insert into uv_3 (k, k2) values (1, 2)
update uv_3 set k = 1, k2 = 2
merge into uv_1 using (select 1 as x) s on uv_1.id = s.x when matched then delete
insert into uv_1 (id, a) values (1, 7) on conflict (id) do update set a = excluded.a + excluded.e, b = uv_1.b || '!' where uv_1.a > 0 returning *
insert into uv_1 (id, a) values (1, 7) on conflict (id) do update set a = -5
insert into uv_1 (id, a) values (1, 7) on conflict (e) do nothing
insert into uv_1 (id, a) values (1, 7) on conflict (zz) do nothing
insert into uv_1 (id, a) values (1, 7) on conflict do nothing
insert into uv_1 (id, a) values (1, 7) on conflict on constraint uv_t_pkey do nothing
insert into uv_2 (k, a) values (1, 7) on conflict (k) do update set a = excluded.a returning *
insert into uv_1 (id, a) values (1, 7) on conflict (id) do update set e = 3
insert into uv_1 (id, zz) values (1, 7)
with gone as (delete from uv_1 where id > 10 returning id, e) select * from gone order by id
with made as (insert into uv_2 (k) values (30) returning k, e) update uv_1 set b = 'seen' from made where uv_1.id = made.k - 29 returning uv_1.id, made.e
create view uv_4 as select distinct a from uv_t
insert into uv_4 values (1)
create view uv_5 as select count(*) from uv_t
update uv_5 set count = 1
create view uv_6 as select row_number() over () r, a from uv_t
delete from uv_6
create view uv_8 as select a + 1 as x from uv_t
insert into uv_8 values (1)
update uv_8 set x = 1
create view uv_10 as select a from uv_t limit 1 with check option
create view uv_11 as select 1 as x
insert into uv_11 values (1)
create view uv_12 as values (1)
insert into uv_12 values (1)
create view uv_14 as select tableoid as t, a from uv_t
insert into uv_14 (t) values (1)
create view uv_15 as select t1.a from uv_t t1, uv_t t2
insert into uv_15 values (1)
create view uv_16 as select x.p, x.q from uv_t as x (p, q) where q < 10
insert into uv_16 values (33, 3) returning *, p + 1
insert into uv_16 values (34, 33) returning *
update uv_16 set q = q + 1 where p = 33 returning *
create view uv_17 as with w as (select 1) select a from uv_t
delete from uv_17
create view uv_18 as select a from uv_t union select 1
delete from uv_18
create view uv_19 as select a from uv_t group by a
delete from uv_19
create view uv_20 as select max(a) from uv_t having max(a) > 1
delete from uv_20
create view uv_21 as select a from uv_t where a in (select id from uv_t)
update uv_21 set a = 2 where a = 3 returning a
insert into uv_21 values (1)
select table_name, is_updatable, is_insertable_into, check_option from information_schema.views where table_name like 'uv_%' order by 1
select table_name, column_name, is_updatable from information_schema.columns where table_name like 'uv_%' order by 1, ordinal_position
select table_name, is_insertable_into from information_schema.tables where table_name like 'uv_%' order by 1
select relname, pg_relation_is_updatable(oid, false), pg_column_is_updatable(oid, 1::int2, true), pg_column_is_updatable(oid, 5::int2, true) from pg_class where relname like 'uv_%' and relkind in ('v', 'r') order by 1
select pg_relation_is_updatable(99999, false), pg_relation_is_updatable('pg_class', true)
select pg_get_viewdef('uv_1'), reloptions from pg_class where relname = 'uv_1'
alter view uv_16 set (check_option = cascaded)
insert into uv_16 values (35, 33)
alter view uv_16 reset (check_option)
insert into uv_16 values (35, 33)
create or replace view uv_16 as select x.p, x.q from uv_t as x (p, q) where q < 10 with local check option
select reloptions from pg_class where relname = 'uv_16'
create or replace view uv_16 as select x.p, x.q from uv_t as x (p, q) where q < 10
select reloptions from pg_class where relname = 'uv_16'
create view uv_22 with (check_option = local) as select a, id from uv_t where a < 3
alter view uv_22 set (check_option = 'bogus')
alter view uv_19 set (check_option = local)
create view uv_30 as select id, a from uv_t where a > 10
create view uv_31 as select id, a from uv_30 where a < 20 with local check option
create view uv_32 as select id, a from uv_31 where a <> 15
create view uv_33 as select id, a from uv_31 where a <> 15 with check option
insert into uv_31 values (100, 30)
insert into uv_31 values (100, 5)
insert into uv_32 values (101, 15)
insert into uv_32 values (102, 25)
insert into uv_33 values (103, 15)
insert into uv_33 values (103, 5)
insert into uv_33 values (103, 25)
insert into uv_33 values (103, 12) returning *
update uv_33 set a = a + 3
update uv_33 set a = a + 4
create view uv_34 as select id from uv_33
insert into uv_34 values (104)
prepare uv_p (int, int) as update uv_31 set a = $2 where id = $1 returning a
execute uv_p (103, 18)
execute uv_p (103, 99)
deallocate uv_p
create table uv_log (what text)
create function uv_note() returns trigger language plpgsql as $$ begin if tg_op = 'INSERT' then new.a := new.a + 1; end if; insert into uv_log values (tg_op || ' ' || tg_table_name || ' ' || coalesce(new.a, -1)); return new; end $$
create trigger uv_noted before insert or update on uv_t for each row execute function uv_note()
insert into uv_33 values (200, 11), (201, 13) returning *
insert into uv_33 values (202, 14)
update uv_33 set a = 14 where id = 200 returning a
select what from uv_log order by what
create function uv_f() returns int language plpgsql as $$ declare n int; begin insert into uv_34 select 300 where false; update uv_33 set a = a where id in (200, 201); get diagnostics n = row_count; delete from uv_33 where id = 201; return n; end $$
select uv_f()
select * from uv_33 order by id
truncate uv_1
create view uv_35 as select upper(b) as big, id from uv_t
insert into uv_35 (id) values (400) returning big, id
update uv_35 set id = 401 where big = 'X' and id = 400 returning *
select is_updatable, column_name from information_schema.columns where table_name = 'uv_35' order by 2
create schema uv_s
create table uv_s.inner_t (k int primary key, v text)
create view uv_36 as select * from uv_s.inner_t
insert into uv_36 values (1, 'one'), (2, 'two')
update public.uv_36 set v = 'zwei' where public.uv_36.k = 2 returning uv_36.*
delete from uv_36 where k = 1
select * from uv_s.inner_t
drop schema uv_s cascade
drop table uv_t cascade
drop table uv_log
drop view uv_11, uv_12
drop function uv_f
drop function uv_note
