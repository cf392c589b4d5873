-- What USING merges is of the common type of both columns.
create table a (id int, d date)
create table b (id numeric, d timestamp)
insert into a values (7, '2020-01-01'), (8, null)
insert into b values (7, '2020-01-01'), (9, null)
select id / 2 from a join b using (id)
select id / 2, a.id / 2, b.id / 2 from a left join b using (id) order by 1
select id / 2 from a right join b using (id) order by 1
select id / 2 from a full join b using (id) order by 1
select pg_typeof(id), pg_typeof(d), * from a natural join b
select x.*, pg_typeof(x.id) from (select 1 as k) k left join (a join b using (id)) x(id, d1, d2) on true
-- A cast of an array's elements has a modifier.
select array['abc']::varchar(2)[], array[1.55]::numeric(3,1)[], cast(array['abc', 'd'] as char(2)[])
select array[99.99]::numeric(3,1)[]
-- ON UPDATE CASCADE assigns what fits.
create table parent (k varchar(10) primary key)
create table child (k varchar(3) references parent on update cascade)
insert into parent values ('abc')
insert into child values ('abc')
update parent set k = 'abcdefgh'
update parent set k = 'xy'
select k, length(k) from child
create table amounts (n numeric primary key)
create table parts (n numeric(5,1) references amounts on update cascade)
insert into amounts values (1.5)
insert into parts values (1.5)
update amounts set n = 1.55
select n from parts
