-- UNIQUE NULLS NOT DISTINCT: NULL equals NULL.
create table nnd_t (id int primary key, a int unique nulls not distinct, b text, c int, constraint nnd_bc unique nulls not distinct (b, c))
insert into nnd_t values (1, null, 'x', null), (2, 1, null, null)
insert into nnd_t values (3, null, 'y', 1)
insert into nnd_t values (3, 2, 'x', null)
insert into nnd_t values (3, 2, null, null)
insert into nnd_t values (3, 2, null, 1), (4, 3, 'x', 1)
update nnd_t set a = null where id = 2
update nnd_t set b = null, c = null where id = 3
update nnd_t set a = null where id = 1
select * from nnd_t order by id
insert into nnd_t values (9, null, 'z', 9) on conflict (a) do nothing
insert into nnd_t values (9, null, 'z', 9) on conflict (a) do update set c = excluded.c returning *
insert into nnd_t values (9, 9, 'x', null) on conflict (b, c) do update set a = 90 returning id, a
insert into nnd_t values (9, 9, 'x', null) on conflict on constraint nnd_bc do update set a = 91 returning id, a
select id from nnd_t where a is null
select id from nnd_t where a = null
select id from nnd_t where b is not distinct from 'x' order by id
delete from nnd_t where a is null
insert into nnd_t values (10, null, 'new', null)
insert into nnd_t values (11, null, 'newer', null)
create unique index nnd_part on nnd_t (c) include (b) nulls not distinct where id > 5
insert into nnd_t values (12, 12, 'p', null)
create unique index nnd_fails on nnd_t (c) nulls not distinct
create index nnd_plain on nnd_t (c) nulls not distinct
create unique index nnd_lower on nnd_t (lower(b)) nulls not distinct
insert into nnd_t values (4000, 77, 'NEW', 5)
alter table nnd_t add constraint nnd_more unique nulls not distinct (c, id)
alter table nnd_t alter column a type bigint
insert into nnd_t values (13, null, 'q', 8)
select indexdef from pg_indexes where tablename = 'nnd_t' order by indexname
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'nnd_t'::regclass order by 1
select c.relname, i.indnullsnotdistinct from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like 'nnd%' order by 1
select constraint_name, nulls_distinct from information_schema.table_constraints where table_name = 'nnd_t' and constraint_type <> 'CHECK' order by 1
create table nnd_like (like nnd_t including all)
select indexdef from pg_indexes where tablename = 'nnd_like' order by indexname
insert into nnd_like values (1, null, 'a', 1), (2, null, 'b', 2)
alter table nnd_t drop constraint nnd_bc
insert into nnd_t values (14, 14, 'x', null)
create table nnd_p (k int, a int, unique nulls not distinct (k, a)) partition by range (k)
create table nnd_p1 partition of nnd_p for values from (0) to (10)
insert into nnd_p values (1, null)
insert into nnd_p values (1, null)
insert into nnd_p values (1, null) on conflict (k, a) do update set k = 2 returning *
insert into nnd_p values (3, null), (3, null)
insert into nnd_p values (3, null), (3, null) on conflict do nothing
select * from nnd_p order by k
create index on nnd_p1 (k, a)
alter table nnd_p detach partition nnd_p1
insert into nnd_p1 values (3, null)
alter table nnd_p attach partition nnd_p1 for values from (0) to (10)
insert into nnd_p values (3, null)
create table nnd_m (id int primary key, a int, b text unique nulls distinct)
insert into nnd_m values (1, null, null), (2, 2, null), (3, 3, null)
create unique index nnd_m_a on nnd_m (a) nulls not distinct
insert into nnd_m values (4, 4, 'x'), (5, null, 'y'), (6, null, 'z')
insert into nnd_m values (4, 4, 'x'), (5, null, 'y'), (6, null, 'z') on conflict do nothing
insert into nnd_m values (7, 7, 'p'), (8, null, 'q'), (9, null, 'r') on conflict (a) do nothing
insert into nnd_m values (10, null, 'u'), (11, null, 'v') on conflict (a) do update set b = excluded.b
insert into nnd_m values (10, null, 'u') on conflict (a) do update set b = excluded.b, a = 10 returning *
insert into nnd_m values (11, null, 'v') on conflict (a) do update set b = excluded.b returning *
insert into nnd_m values (10, null, 'w') on conflict (a) do update set b = excluded.b where nnd_m.b = 'v' returning *
insert into nnd_m values (12, 12, null) on conflict (b) do nothing
insert into nnd_m values (13, 13, null) on conflict (b) do nothing
update nnd_m set a = nullif(a, 2)
update nnd_m set a = null where id = 11
update nnd_m set a = 100 + id
update nnd_m set a = null where id = 2
begin
delete from nnd_m where id = 2
insert into nnd_m values (20, null, 'in')
savepoint s
insert into nnd_m values (21, null, 'out')
rollback to s
update nnd_m set a = 20 where id = 20
insert into nnd_m values (21, null, 'out')
commit
select id, a from nnd_m order by id
create unique index nnd_m_e on nnd_m ((a % 1000), lower(b)) nulls not distinct where id > 10
insert into nnd_m values (31, 1101, null)
insert into nnd_m values (32, 2101, null)
insert into nnd_m values (32, 2101, null) on conflict ((a % 1000), lower(b)) where id > 10 do update set a = 3333 returning id, a
insert into nnd_m values (5, 2101, null)
alter table nnd_m add column c int unique nulls not distinct
alter table nnd_m add column d int default 1 unique nulls not distinct
delete from nnd_m where id <> 31
alter table nnd_m add column c int unique nulls not distinct
insert into nnd_m (id, a) values (40, 40)
insert into nnd_m (id, a, c) values (40, 40, 1)
create table nnd_child (id int primary key, c int references nnd_m (c) on delete set null, unique nulls not distinct (c))
insert into nnd_child values (1, 1), (2, null)
delete from nnd_m where c = 1
delete from nnd_child where id = 2
delete from nnd_m where c = 1
select * from nnd_child
alter table nnd_m drop column c cascade
alter table nnd_m rename column a to aa
create unique index nnd_m_i on nnd_m (aa) include (b) nulls not distinct where id > 0
select indexdef from pg_indexes where tablename = 'nnd_m' order by indexname
select pg_get_indexdef('nnd_m_e'::regclass, 2, true)
drop index nnd_m_a
insert into nnd_m (id, aa) values (50, null), (51, null)
alter table nnd_m add unique nulls not distinct (aa)
create temp table nnd_temp (a int unique nulls not distinct)
insert into nnd_temp values (null)
insert into nnd_temp values (null)
truncate nnd_temp
insert into nnd_temp values (null)
create table nnd_key (a int, primary key nulls not distinct (a))
drop table nnd_temp, nnd_child, nnd_m
drop table nnd_t, nnd_like, nnd_p
