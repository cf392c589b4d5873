-- Columns of views that get another name, and what names them.
create table t (a int primary key, c text)
insert into t values (1, 'one'), (2, 'two')
create view v as select a, c from t
create view w as select a, a + 1 x from v where a > 0 order by a
create view w2 as select q.a from (select a from v) q
create view w3 as select v.a, t.c from v join t using (a)
create view w4 as select c as b, count(*) from v group by b
create view w6 as select * from v natural join t
create view w7 as with q as (select a, c from v) select q.a, o.a as other from q, v o where exists (select from v i where i.a = o.a and q.c <> 'b')
create view w8 as select a from v union select a + 10 from v order by a
create view w9 as select distinct a, max(c) over (partition by a) m from v order by a desc
create materialized view m as select a, c from t
create index on m ((a + 1)) where a > 1
create view wm as select a from m
create materialized view mm as select a, c from v
alter view v rename column a to b
select * from v order by 1
select attname, attnum from pg_attribute where attrelid = 'v'::regclass order by 2
select * from w
select * from w2 order by 1
select * from w3 order by 1
select * from w4 order by 1
select * from w6 order by 1
select * from w7 order by 1, 2
select * from w8
select * from w9
select pg_get_viewdef('w')
refresh materialized view mm
select a, c from mm order by 1
alter materialized view m rename column a to z
select z, c from m order by 1
select * from wm order by 1
select pg_get_viewdef('wm')
refresh materialized view m
select indexdef from pg_indexes where tablename = 'm'
alter table m rename z to y
select attname from pg_attribute where attrelid = 'm'::regclass and attnum > 0 order by attnum
select * from wm order by 1
alter view m rename y to zz
select zz from m order by 1
alter table t rename a to k
select * from v order by 1
select * from w6 order by 1
select pg_get_viewdef('v')
alter table v rename b to a
select * from w order by 1
select pg_get_viewdef('w')
insert into v (a, c) values (3, 'three')
select * from t order by 1
alter view v rename a to c
alter view v rename nobody to c
alter materialized view v rename nobody to c
alter view if exists nowhere rename a to b
alter view nowhere rename a to b
alter materialized view if exists nowhere rename column a to b
alter table if exists nowhere rename column a to b
drop view v
create role view_renamer
set role view_renamer
alter view v rename a to b
reset role
drop role view_renamer
drop table t cascade
