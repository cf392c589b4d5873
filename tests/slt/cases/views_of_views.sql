-- Views of views.
create table ground (a int)
insert into ground values (1), (2)
create view upper_1 as select a from ground
create view upper_2 as select a from upper_1
create view upper_3 as select u.a from upper_2 u join upper_1 using (a)
create or replace view upper_1 as select a from ground where a > 1
select a from upper_3
drop table ground cascade
