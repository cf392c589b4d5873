-- Checks that come with NOT VALID hold for new rows at once and for all when somebody has looked.
create table nv(id int primary key, a int, b int)
insert into nv values (1, -1, 1), (2, 5, 2)
alter table nv add constraint a_positive check (a > 0)
alter table nv add constraint a_positive check (a > 0) not valid
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'nv'::regclass order by 1
insert into nv values (3, -3, 3)
update nv set b = 7 where id = 1
update nv set b = 7 where id = 2
update nv set a = 4 where id = 2
alter table nv validate constraint a_positive
alter table nv rename constraint a_positive to positive
select conname, convalidated from pg_constraint where conrelid = 'nv'::regclass order by 1
alter table nv validate constraint a_positive
delete from nv where id = 1
alter table nv validate constraint positive
alter table nv validate constraint positive
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'nv'::regclass order by 1
alter table nv add check (b < 3) not valid, add constraint both_ok check (a + b < 100) not valid
alter table nv drop constraint both_ok, validate constraint nv_b_check
select conname, convalidated from pg_constraint where conrelid = 'nv'::regclass order by 1
alter table nv drop constraint nv_b_check
alter table nv add constraint nv_b_check check (b < 30)
alter table nv add constraint later check (b < 20) not valid, validate constraint later
select conname, convalidated from pg_constraint where conrelid = 'nv'::regclass order by 1
drop table nv
create table nv(a int, constraint c check (a > 0) not valid)
select conname, convalidated from pg_constraint where conrelid = 'nv'::regclass order by 1
alter table nv add constraint d check (a > 1) not valid
alter table nv drop column a
alter table nv add column a int
alter table nv add constraint d check (a > 2)
select conname, convalidated from pg_constraint where conrelid = 'nv'::regclass order by 1
drop table nv
create table nvp(a int, constraint pc check (a > 0)) partition by range (a)
create table nvc(a int)
insert into nvc values (-5)
alter table nvc add constraint pc check (a > 0) not valid
alter table nvp attach partition nvc for values from (-10) to (10)
delete from nvc
alter table nvc validate constraint pc
alter table nvp attach partition nvc for values from (-10) to (10)
drop table nvp
