create table t (a int not null, b int, c text default 'd') partition by range (a)
create table t1 partition of t for values from (0) to (10) partition by list (b)
create table t1x partition of t1 for values in (1, 2)
create table t1y partition of t1 for values in (3, null) partition by hash (a, c)
create table t1y0 partition of t1y for values with (modulus 2, remainder 0)
create table t1y1 partition of t1y for values with (modulus 2, remainder 1)
create table t2 partition of t for values from (10) to (20)
create table td partition of t default partition by range (b)
create table td1 partition of td for values from (0) to (100)
insert into t select a, b, 'v' || a from generate_series(0, 12) a, generate_series(1, 3) b
select tableoid::regclass, count(*), min(a), max(a) from t group by 1 order by 1
select tableoid::regclass, count(*) from t1 group by 1 order by 1
select tableoid::regclass, a, b from t1y where a < 4 order by a, b
select count(*) from t1x
select count(*) from t1y0
insert into t values (5, 7, 'nowhere')
insert into t values (50, -1, 'nowhere')
insert into t values (50, null, 'nowhere')
insert into t1 values (5, 9)
insert into t1 values (15, 1)
insert into t1y values (5, 1)
insert into t1y values (15, 3)
insert into t1x values (5, 3)
insert into t1x values (15, 1)
insert into td values (5, 50)
insert into td values (500, 500)
insert into t values (null, 1)
insert into t1 values (null, 1)
insert into t1x values (null, 1)
insert into t1y values (6, null, 'n') returning tableoid::regclass in ('t1y0'::regclass, 't1y1'::regclass), *
insert into t values (100, 5), (10, null) returning tableoid::regclass, *
update t set a = 200, b = 20 where a = 3 and b = 1 returning tableoid::regclass, *
update t1 set b = 3 where a = 4 and b = 1 returning a, b, c
update t1 set a = 11 where a = 4
update t1x set b = 3 where a = 5
update t1x set b = 1 where a = 5 and b = 2 returning *
update t1y set b = 1 where a = 6
update t set b = 8 where a = 6
update t set b = b where a = 6
update td set b = 500 where a = 100
delete from t1y where a = 0 returning a, b
delete from t1 where a = 1
select a, b, c from t order by a, b, c
select a, b from only t
select a, b from only t1
select count(*) from only t1x
update only t set c = 'x'
update only t1 set c = 'x'
delete from only t1
delete from only t2 where a = 12
select t1.a, t1x.b, t1y.b from t1 left join t1x on t1x.a = t1.a left join t1y on t1y.a = t1.a where t1.a between 7 and 8 order by 1, 2, 3
select count(*) from t where a = 7 and b = 3
select count(*) from t where b is null
select count(*) from t1 where a > 10
begin
drop table t1
select count(*) from t
insert into t values (5, 1)
select * from t1x
rollback
select count(*) from t1
begin
drop table t1y
select count(*) from t1
insert into t values (5, 3)
create table t1z partition of t1 for values in (3, 4)
insert into t values (5, 3) returning tableoid::regclass
rollback
begin
truncate t1
select count(*) from t
truncate t
select count(*) from t
rollback
begin
truncate t1y0, t2
select count(*) from t1y0
select count(*) from t2
truncate t1y
select count(*) from t1y
rollback
truncate only t1
select relname, relkind, relispartition, relhassubclass, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^t(1|2|d)?' and relnamespace = 'public'::regnamespace order by 1
select inhrelid::regclass, inhparent::regclass, inhseqno from pg_inherits order by 1::text
select inhrelid::regclass::text, inhparent::regclass::text from pg_inherits order by 1
select partrelid::regclass::text, partstrat, partnatts, partdefid::regclass, partattrs, partclass, partcollation, partexprs is null from pg_partitioned_table order by 1
select pg_get_partkeydef('t'::regclass), pg_get_partkeydef('t1'), pg_get_partkeydef('t1y'::regclass), pg_get_partkeydef('t1x'::regclass)
select relid::text, parentrelid::text, isleaf, level from pg_partition_tree('t') order by level, 1
select relid::text, parentrelid::text, isleaf, level from pg_partition_tree('t1') order by level, 1
select relid::text, parentrelid::text, isleaf, level from pg_partition_tree('t1y0') order by level, 1
select pg_partition_root('t1y0'), pg_partition_root('t1'), pg_partition_root('t')
select pg_partition_ancestors('t1y0')
select pg_partition_ancestors('t1')
select pg_get_partition_constraintdef('t1x'::regclass)
select pg_get_partition_constraintdef('t1y'::regclass)
select pg_get_partition_constraintdef('t1'::regclass)
select pg_get_partition_constraintdef('t2'::regclass)
create table t1b partition of t1 for values in (2)
create table t1b partition of t1 for values from (1) to (2)
create table t1b partition of t1x for values in (2)
create table t1b partition of t1 default partition by range (nothing)
create table t1b partition of t1 default partition by list (a, b)
create table t1 partition of t for values from (30) to (40) partition by list (b)
create table tx partition of t for values from (90) to (110)
create table tx partition of t for values from (30) to (40) partition by list (b)
insert into t values (30, 1)
drop table tx
alter table t add constraint nope primary key (a)
create table k (a int, b int, primary key (a)) partition by range (a)
create table k1 partition of k for values from (0) to (10) partition by list (b)
create table k1 partition of k for values from (0) to (10) partition by list (a)
create table k1a partition of k1 for values in (1)
create table k1d partition of k1 default
insert into k values (1, 1), (2, 2)
insert into k values (2, 3)
insert into k1 values (2, 3) on conflict do nothing
insert into k values (2, 3) on conflict (a) do update set b = excluded.b + 10 returning tableoid::regclass, *
select tableoid::regclass, * from k order by a
alter table k drop column a
alter table k add column z int default 7
select * from k1d
drop table k
select relname from pg_class where relname like 'k1%'
create table own (b int, c text, a int not null) partition by range (b)
create table own1 partition of own for values from (0) to (5)
create table own2 partition of own for values from (5) to (10) partition by list (c)
create table own2x partition of own2 for values in ('x')
create table own2d partition of own2 default
insert into own (b, a, c) values (1, 300, 'o'), (6, 301, 'x'), (7, 302, 'y')
alter table t attach partition own for values from (300) to (302)
alter table t attach partition own for values from (300) to (310)
select tableoid::regclass, * from t where a >= 300 order by a
insert into t values (305, 6, 'x') returning tableoid::regclass
insert into own2x (b, a, c) values (305, 7, 'x')
insert into own2x (b, a, c) values (7, 305, 'x') returning a, b, c
insert into t values (305, 11, 'x')
select relid::text, parentrelid::text, isleaf, level from pg_partition_tree('t') order by level, 1
alter table own attach partition t for values from (20) to (30)
alter table t detach partition own2
alter table own detach partition own2
select tableoid::regclass, a, b, c from own2 order by a, b, c
insert into own2 (a, b, c) values (1, 1, 'new') returning tableoid::regclass
insert into t values (305, 6, 'x')
select count(*) from t where a >= 300
alter table own attach partition own2 for values from (5) to (10)
delete from own2 where b = 1
alter table own attach partition own2 for values from (5) to (10)
delete from own2 where a < 300
alter table own attach partition own2 for values from (5) to (10)
select tableoid::regclass, * from t where a >= 300 order by a, b
alter table t detach partition own
select tableoid::regclass, a, b, c from own order by a, b, c
select relname, relkind, relispartition from pg_class where relname like 'own%' order by 1
drop table own
alter table t detach partition t1y0
alter table t1y detach partition t1y0
insert into t1y select 7, 3, 'v' || n from generate_series(1, 20) n
alter table t1y attach partition t1y0 for values with (modulus 2, remainder 1)
alter table t1y attach partition t1y0 for values with (modulus 2, remainder 0)
create table deep1 (a int not null, b int, c text) partition by list (a)
create table deep2 partition of deep1 for values in (40) partition by list (b)
create table deep3 partition of deep2 for values in (1) partition by list (c)
create table deep4 partition of deep3 for values in ('q') partition by range (a, b)
create table deep5 partition of deep4 for values from (0, 0) to (100, 100)
insert into deep1 values (40, 1, 'q') returning tableoid::regclass
insert into deep1 values (40, 1, 'r')
insert into deep3 values (40, 2, 'q')
alter table t attach partition deep1 for values from (40) to (50)
select tableoid::regclass, * from t where a = 40
insert into t values (41, 1, 'q')
drop table deep3
select count(*) from t where a = 40
drop table deep1
create view vt as select a, b from t1 where b = 3
drop table t1
drop table t1y
create view vy as select a from t1y0
drop table t1
drop table t1 cascade
select viewname from pg_views where schemaname = 'public'
drop table t
select count(*) from pg_class where relname ~ '^t[1d]'
create table e (a int, b int, c text) partition by range ((a + b), lower(c))
create table e1 partition of e for values from (0, 'a') to (10, 'm')
create table e2 partition of e for values from (10, 'm') to (maxvalue, maxvalue) partition by list ((b % 3))
create table e20 partition of e2 for values in (0)
create table e2d partition of e2 default
insert into e values (1, 2, 'X'), (4, 6, 'A'), (4, 6, 'N'), (10, 3, 'Q'), (10, 4, 'Q')
select tableoid::regclass, * from e order by a, b, c
insert into e values (-1, 0, 'A')
insert into e1 values (100, 0, 'A')
insert into e2 values (1, 0, 'A')
update e set b = b + 1 where a = 10 returning tableoid::regclass, *
update e1 set a = 100
update e set c = upper(c)
update e set c = null where a = 1
select pg_get_partkeydef('e'::regclass), pg_get_partkeydef('e2'::regclass)
select partrelid::regclass::text, partnatts, partattrs, partexprs is null from pg_partitioned_table order by 1
select pg_get_partition_constraintdef('e20'::regclass)
select attname from pg_attribute where attrelid = 'e'::regclass and attnum > 0 order by attnum
select * from e where a + b = 10 order by c
alter table e add primary key (a)
alter table e add unique (a, b, c)
alter table e drop column c
alter table e alter column a type bigint
alter table e add column d int
alter table e rename column b to bb
alter table e detach partition e2
select tableoid::regclass, * from e2 order by a, bb, c
alter table e attach partition e2 for values from (10, 'm') to (maxvalue, maxvalue)
select tableoid::regclass, * from e order by a, bb, c
create table eown (a int, bb int, c text, d int)
insert into eown values (-5, 1, 'zz', 1)
alter table e attach partition eown for values from (-100, 'a') to (-50, 'b')
alter table e attach partition eown for values from (-100, 'a') to (0, 'a')
select tableoid::regclass, * from e order by a, bb, c
drop table e
create table bad (a int, b int, g int generated always as (a + 1) stored) partition by range (g)
create table bad (a int, b int, g int generated always as (a + 1) stored) partition by range ((g + 1))
create table bad (a int) partition by range ((1))
create table bad (a int) partition by range ((random()))
create table bad (a int) partition by range ((a + random()))
create table bad (a int) partition by range ((count(a)))
create table bad (a int) partition by range ((select 1))
create table bad (a int) partition by range (nope)
create table bad (a int) partition by range (ctid)
create table bad (a json) partition by range (a)
create table bad (a json) partition by hash (a)
create table bad (a int) partition by list (a int8_ops)
create table bad (a int) partition by list (a nope_ops)
create table bad (a int collate "C") partition by list (a)
create table bad (a int) partition by list (a collate "C")
create table good (a int, b text) partition by range (a int4_ops, b collate "C" text_ops)
drop table good
create table good (a int, b text) partition by hash (a int4_ops, lower(b))
create table good0 partition of good for values with (modulus 3, remainder 0)
create table good1 partition of good for values with (modulus 3, remainder 1)
create table good2 partition of good for values with (modulus 3, remainder 2)
insert into good select n, 'AbC' || n from generate_series(1, 12) n
select tableoid::regclass, a from good order by a
drop table good
