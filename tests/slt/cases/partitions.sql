create table r(a int not null, b text, c int default 5) partition by range (a)
create table r1 partition of r for values from (minvalue) to (10)
create table r2 partition of r for values from (10) to (20)
insert into r values (1, 'x'), (9, 'y'), (10, 'z'), (19, null)
insert into r values (20, 'no')
insert into r1 values (10, 'no')
insert into r1 values (-5, 'by name')
insert into r (b) values ('null key')
insert into r1 (b) values ('null key')
select a, b, c from r order by a
select a, b, c from r1 order by a
select count(*) from only r2
select a, r2.b from r2 where r2.a = 19
update r set a = a + 1 where a = 9
select a, b from r2 order by a, b
update r1 set a = 15 where a = 1
update r2 set a = 15 where a = 19
update r set a = 100
update r2 set b = b || '!' where a > 10
delete from r1 where a > 100
delete from r1 where a = -5 returning *
insert into r2 select n, 'n' from generate_series(11, 13) n
insert into r2 values (18, 'r', 1) returning a, b, c
select r.a, r1.b, r2.b from r left join r1 using (a) left join r2 using (a) order by r.a, r2.b
select r1.a, r2.a from r1 full join r2 on r1.a = r2.a - 10 order by 1, 2
select a from r1 union all select a from r2 order by 1
select a from r where exists (select from r2 where r2.a = r.a) order by a
with moved as (delete from r2 where a = 18 returning a) select * from moved
select count(*), min(a), max(a), sum(c) from r
begin
drop table r2
select a from r order by a
insert into r values (12, 'nowhere')
rollback
select count(*) from r2
begin
drop table r2
create table r2b partition of r for values from (10) to (30)
insert into r values (25, 'in r2b')
rollback
select count(*) from r2
create table rd partition of r default
insert into r values (500, 'default'), (20, 'default')
insert into rd values (15, 'no')
insert into rd values (600, 'yes')
select a from rd order by a
create table r3 partition of r for values from (20) to (30)
create table r3 partition of r for values from (30) to (40)
create table rd2 partition of r default
insert into rd values (35, 'now in r3')
create table r4 partition of r for values from (35) to (50)
create table r4 partition of r for values from (50) to (50)
create table r4 partition of r for values from (60) to (50)
create table r4 partition of r for values in (50)
create table r4 partition of r for values with (modulus 2, remainder 1)
create table r4 partition of r for values from (50, 1) to (60)
create table r4 partition of r for values from (null) to (60)
create table r4 partition of r for values from ('abc') to (60)
create table r4 partition of r for values from (a) to (60)
create table r4 partition of r for values from (50 + 5) to (10 * 6)
create table if not exists r4 partition of r for values from (1) to (2)
create table r4 partition of r for values from (200) to (300)
create table nothing partition of no_such_table for values from (200) to (300)
create table nothing partition of r4 for values from (200) to (300)
truncate r2
select a from r order by a
truncate r1, rd
select count(*) from r
alter table r add primary key (b)
alter table r add unique (b, c)
create unique index on r (b)
alter table r add primary key (a)
insert into r values (1, 'one'), (2, 'two'), (11, 'eleven')
insert into r values (1, 'again')
insert into r1 values (1, 'again')
insert into r values (1, 'again') on conflict (a) do update set b = excluded.b
insert into r1 values (2, 'again too') on conflict (a) do update set b = excluded.b returning *
insert into r1 values (2, 'again three') on conflict do nothing
select a, b from r order by a
alter table r drop column a
alter table r alter column a type bigint
alter table r add column d int default 7
select a, d from r2 order by a
alter table r add check (d > 0)
insert into r1 values (3, 'x', 1, -1)
create view seen as select a, b from r2 where a < 12
select * from seen
drop table r2
drop table r2 cascade
drop table r4, r3
select relname, relkind, relispartition, pg_get_expr(relpartbound, oid) from pg_class where relname in ('r', 'r1', 'r2', 'rd') order by 1
select c.relname, p.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent where c.relkind = 'r' order by 1
select partrelid::regclass, partstrat, partnatts, partdefid::regclass, partattrs from pg_partitioned_table
select pg_get_partkeydef('r'::regclass), pg_get_partkeydef('r1'::regclass)
select pg_get_partition_constraintdef('r1'::regclass)
select relid, parentrelid, isleaf, level from pg_partition_tree('r') order by 1::text
select pg_partition_root('r1'), pg_partition_root('r')
select relid from pg_partition_ancestors('r1') t(relid)
select table_name, table_type from information_schema.tables where table_name like 'r%' and table_schema = 'public' order by 1
select table_name, column_name from information_schema.columns where table_name = 'r1' order by ordinal_position
alter table r1 rename to first
select count(*) from first
drop table r
select count(*) from first
create table l(k text, v int) partition by list (k)
create table l1 partition of l for values in ('a', 'b')
create table l2 partition of l for values in ('c', null)
create table l3 partition of l for values in ('b')
create table l3 partition of l for values in (null)
insert into l values ('a', 1), ('b', 2), ('c', 3), (null, 4)
insert into l values ('d', 5)
insert into l2 values (null, 6), ('c', 7)
insert into l1 values (null, 6)
select k, v from l1 order by v
select k, v from l2 order by v
create table ld partition of l default
insert into l values ('d', 5), ('e', 6)
select k, v from ld order by v
create table l3 partition of l for values in ('d')
delete from ld
create table l3 partition of l for values in ('d', 'd', 'f')
update l set k = 'f' where k = 'a'
select k, v from l3
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^l.$' order by 1
select pg_get_partition_constraintdef('l1'::regclass), pg_get_partition_constraintdef('l2'::regclass)
create table two(a int, b int) partition by list (a, b)
create table two(a int, b int) partition by range (a, c)
create table two(a int, b int, c int generated always as (a) stored) partition by range (c)
create table two(a int, b int, primary key (b)) partition by range (a)
create table two(a int, b int, unique (b)) partition by range (a)
create table two(a int, b int, primary key (b, a)) partition by range (a, b)
create table two1 partition of two for values from (1, 10) to (1, 20)
create table two2 partition of two for values from (1, 20) to (2, minvalue)
create table two3 partition of two for values from (2, minvalue) to (3, 5)
create table two4 partition of two for values from (3, 5) to (3, maxvalue)
create table two5 partition of two for values from (3, 7) to (4, 1)
create table two5 partition of two for values from (minvalue, 3) to (4, 1)
create table two5 partition of two for values from (7, maxvalue) to (maxvalue, maxvalue)
insert into two values (1, 10), (1, 19), (1, 20), (1, 500), (2, -5), (2, 5), (3, 4), (3, 5), (3, 500), (8, 0)
insert into two values (1, 9)
insert into two values (7, 9)
insert into two values (4, 0)
select a, b from two1 order by a, b
select a, b from two2 order by a, b
select a, b from two3 order by a, b
select a, b from two4 order by a, b
select a, b from two5 order by a, b
update two set b = b + 1 where a = 1 and b = 19
select a, b from two1 order by a, b
create table h(a int primary key, b text) partition by hash (a)
create table h0 partition of h for values with (modulus 3, remainder 0)
create table h1 partition of h for values with (modulus 3, remainder 1)
create table h2 partition of h default
create table h2 partition of h for values with (modulus 3, remainder 3)
create table h2 partition of h for values with (modulus 0, remainder 0)
create table h2 partition of h for values with (modulus 3, remainder 1)
create table h2 partition of h for values with (modulus 4, remainder 1)
create table h2 partition of h for values with (modulus 6, remainder 1)
create table h2 partition of h for values from (1) to (2)
create table h2 partition of h for values with (modulus 6, remainder 2)
create table h5 partition of h for values with (modulus 6, remainder 5)
insert into h select n, 'n' || n from generate_series(1, 1000) n
select (select count(*) from h0), (select count(*) from h1), (select sum(a) from h2), (select min(a) from h5)
select (select count(*) from h0) + (select count(*) from h1) + (select count(*) from h2) + (select count(*) from h5), count(*) from h
select count(*) from (select a from h0 union select a from h1 union select a from h2 union select a from h5) u
select h.a, h.b, coalesce(h0.a, h1.a, h2.a, h5.a) from h left join h0 using (a) left join h1 using (a) left join h2 using (a) left join h5 using (a) where h.a in (7, 70, 700) order by 1
update h set b = 'changed' where a = 77
select b from h where a = 77
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^h.$' order by 1
drop table h
create table p(a int not null, b text) partition by range (a)
create table p1 partition of p for values from (0) to (10)
create table o(a int not null, b text)
insert into o values (12, 'twelve'), (17, 'seventeen')
alter table p attach partition o for values from (5) to (20)
alter table p attach partition o for values from (10) to (15)
alter table p attach partition o for values from (10) to (20)
select a, b from p order by a
insert into p values (13, 'thirteen')
select a, b from o order by a
insert into o values (3, 'no')
alter table p attach partition o for values from (20) to (30)
alter table p detach partition o
select a, b from p order by a
select a, b from o order by a
insert into o values (3, 'yes')
insert into p values (13, 'nowhere')
alter table p detach partition o
alter table o detach partition p1
select relkind, relispartition, relpartbound is null from pg_class where relname = 'o'
create table wrong1(a int, b text)
alter table p attach partition wrong1 for values from (20) to (30)
create table wrong2(a int not null)
alter table p attach partition wrong2 for values from (20) to (30)
create table wrong3(a bigint not null, b text)
alter table p attach partition wrong3 for values from (20) to (30)
create table wrong4(a int not null, b text, c int)
alter table p attach partition wrong4 for values from (20) to (30)
create table turned(b text, a int not null)
insert into turned values ('turned', 25)
alter table p attach partition turned for values from (20) to (30)
select a, b from p where a > 20
begin
alter table p detach partition turned
insert into turned (a, b) values (1, 'gone')
rollback
select count(*) from turned
create table c(id int primary key, p int references o2)
create table o2(id int not null, primary key (id)) partition by range (id)
create table o2a partition of o2 for values from (0) to (100)
create table c(id int primary key, p int references o2)
insert into o2 values (1), (2)
insert into c values (1, 1)
insert into c values (2, 3)
delete from o2a where id = 1
drop table o2a
truncate o2a
delete from o2a where id = 2
drop table c
drop table o2a
select count(*) from o2
create table s(id int, at date, note text, primary key (id, at)) partition by range (at)
create table s2024 partition of s for values from ('2024-01-01') to ('2025-01-01')
create table s2025 partition of s for values from ('2025-01-01') to ('2026-01-01')
insert into s values (1, '2024-12-31', 'old'), (1, '2025-01-01', 'new')
select * from s2024
select pg_get_expr(relpartbound, oid) from pg_class where relname = 's2024'
update s set at = at + 1 where note = 'old'
insert into s values (2, '2026-01-01', 'late')
create table ch(k char(3), n numeric(4,1)) partition by list (k)
create table ch1 partition of ch for values in ('a', 'bb ')
insert into ch values ('a', 1), ('bb', 2.25), ('a  ', 3)
insert into ch values ('c', 1)
select k, n from ch1 order by n
create function put(n int) returns int language plpgsql as 'begin insert into s values (n, date ''2024-06-01'', ''by call''); update s2024 set note = note || ''!'' where id = n; return (select count(*) from s2024); end'
select put(50)
select note from s2024 where id = 50
