create table r (k int primary key, a int)
create table q (k int primary key, a text)
create function f3() returns setof r language sql as $$ select * from r where k < 4 $$
create function f4(x r) returns int language sql as $$ select x.k + 1 $$
create function f5(x int) returns int language sql as $$ select x + 1 $$
-- what is declared with the rows of a table stands in its way, and goes with it
drop table r
insert into r values (1, 2)
select * from f3()
drop table r cascade
select * from f3()
select f5(1)
drop function f3
drop function if exists f3
drop function f4
drop function f5
create table r (k int primary key, a int)
create function f3() returns setof r language sql as $$ select * from r where k < 4 $$
select count(*) from f3()
drop function f3
drop table r
