-- What was put off until the commit, and changes of the schema meanwhile.
create table p (id int primary key, note text)
create table c (p int references p deferrable initially deferred)
begin
insert into c values (1)
create table unrelated (a int)
create sequence sq
create view w as select 1 as one
comment on table p is 'parents'
insert into p values (1)
commit
select * from c
begin
insert into c values (2)
create temp table mine (a int)
drop table unrelated
commit
select * from c
begin
insert into c values (3)
create table other (a int)
insert into other values (1)
rollback
select * from c
-- MATCH FULL: a row that is gone, or whole, by then does not count.
create table pp (a int, b int, primary key (a, b))
create table cc (k int primary key, d int, e int, foreign key (d, e) references pp match full deferrable initially deferred)
insert into pp values (1, 1)
begin
insert into cc values (1, 1, null)
delete from cc
commit
begin
insert into cc values (1, 1, null)
update cc set d = null
commit
begin
insert into cc values (2, 1, null)
update cc set e = 1 where k = 2
commit
begin
insert into cc values (3, 1, null)
update cc set k = 4 where k = 3
commit
begin
insert into cc values (3, null, 1)
commit
select * from cc order by k
alter table cc drop constraint cc_d_e_fkey, add foreign key (d, e) references pp match full
insert into cc values (5, 1, null)
select * from cc order by k
drop view w
drop sequence sq
