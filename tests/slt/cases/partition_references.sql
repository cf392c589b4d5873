create table p (a int primary key, b int) partition by range (a)
create table p1 partition of p for values from (0) to (10) partition by range (a)
create table p1a partition of p1 for values from (0) to (5)
create table p1b partition of p1 for values from (5) to (10)
create table p2 partition of p for values from (10) to (20)
create table c (x int references p on delete cascade on update cascade, y int) partition by list (y)
create table c1 partition of c for values in (1) partition by list (x)
create table c1x partition of c1 for values in (1, 2, 12)
create table c1d partition of c1 default
create table c2 partition of c default
insert into p select n, n from generate_series(0, 19) n
insert into c values (1, 1), (7, 1), (12, 2), (12, 1)
insert into c values (100, 1)
insert into c1x values (1, 1)
update c set x = 50 where x = 7
update p set a = 2 where a = 1
update p set a = 13 where a = 13
delete from p where a = 2
select tableoid::regclass, * from c order by x, y
delete from p1 where a = 7
update p set a = 3, b = 33 where a = 3
delete from p2 where a = 19
select tableoid::regclass, * from c order by x, y
drop table p2
drop table p1a
truncate p1
truncate p2
alter table p detach partition p2
alter table p detach partition p1
insert into c values (1, 1)
select count(*) from p1
alter table p attach partition p1 for values from (0) to (10)
select relid::text, parentrelid::text, isleaf, level from pg_partition_tree('p') order by level, 1
insert into c values (4, 1)
insert into c values (11, 3)
drop table p2 cascade
insert into c values (15, 3)
alter table p1 add column z int
alter table p1 drop column b
alter table p1a alter column b type bigint
alter table p1a alter column a drop not null
alter table p1 rename column b to bb
drop table c
drop table p
