-- Subqueries in expressions: small tables, NULLs, duplicates, empty sides.
create table a (id int primary key, x int, y text)
create table b (id int primary key, a_id int, z int)
create table c (u int, v int)
create table none (n int)
insert into a values (1, 10, 'one'), (2, 20, 'two'), (3, null, 'three'), (4, 10, null), (5, 50, 'five')
insert into b values (1, 1, 10), (2, 1, 11), (3, 2, null), (4, null, 40), (5, 4, 10), (6, 9, 90)
insert into c values (1, 1), (1, 1), (2, null), (null, 3), (4, 4), (null, null)
select id, (select count(*) from b where b.a_id = a.id) from a order by id
select id, (select max(z) from b where b.a_id = a.id) from a order by id
select id, (select z from b where b.id = a.id) from a order by id
select id, (select z from b where b.a_id = a.id) from a order by id
select id, (select z from b where b.a_id = a.id limit 1) is null from a order by id
select id from a where exists (select 1 from b where b.a_id = a.id) order by id
select id from a where not exists (select 1 from b where b.a_id = a.id) order by id
select id from a where exists (select 1 from none) order by id
select id from a where not exists (select 1 from none) order by id
select id from a where id in (select a_id from b) order by id
select id from a where id not in (select a_id from b) order by id
select id from a where id not in (select a_id from b where a_id is not null) order by id
select id from a where x in (select z from b where b.a_id = a.id) order by id
select id, x in (select z from b where b.a_id = a.id) from a order by id
select id, x not in (select z from b where b.a_id = a.id) from a order by id
select id, x in (select n from none), x not in (select n from none) from a order by id
select id, x = any (select z from b), x = all (select z from b) from a order by id
select id, x > any (select z from b where z is not null), x >= all (select z from b where z is not null) from a order by id
select id, x <> all (select z from b), x <> any (select z from b) from a order by id
select id, x < all (select n from none), x < any (select n from none) from a order by id
select id, array(select b.id from b where b.a_id = a.id order by b.id) from a order by id
select array(select n from none)
select id, case when id < 3 then (select count(*) from c) else -1 end from a order by id
select case when true then 1 else (select 1 / 0 from a limit 1) end
select id from a where id < 0 and (select 1 / 0) = 1
select coalesce((select max(n) from none), 7)
select (select id from a)
select (select id from a where id = 77)
select (select id, x from a)
select id from a where x = (select z from b)
select id from a where (id, x) in (select a_id, z from b) order by id
select id, (id, x) in (select a_id, z from b) from a order by id
select id, (id, x) not in (select a_id, z from b) from a order by id
select id from a where (id, x) = (select b.id, z from b where b.id = a.id) order by id
select id, (id, x) = (select b.id, z from b where b.id = a.id) from a order by id
select id, (id, x) < (select b.id, z from b where b.id = a.id + 1) from a order by id
select id, (id, x) <> (select u, v from none, c) from a order by id
select (1, 2) = (select 1, 2, 3)
select id from a order by (select count(*) from b where b.a_id = a.id) desc, id
select (select count(*) from b where b.a_id = a.id) as n, count(*) from a group by 1 order by 1
select x, (select count(*) from b where b.z = a.x) from a group by x order by x
select x, (select count(*) from b where b.z = a.id) from a group by x order by x
select x, count(*) from a group by x having count(*) > (select count(*) from none) order by x
select x, count(*) from a group by x having exists (select 1 from b where b.z = a.x) order by x
select x, sum((select count(*) from b where b.a_id = a.id)) from a group by x order by x
select a.id, (select (select b.z + a.x)) from a join b on b.id = a.id order by 1
select a.id, (select max((select c.v + a.id from c where c.u = b.id limit 1)) from b where b.a_id = a.id) from a order by 1
select id from a where exists (select 1 from b where b.a_id = a.id and exists (select 1 from c where c.u = b.id and c.v = a.id)) order by id
select id from a where exists (select 1 from b where b.a_id = a.id and not exists (select 1 from c where c.u = b.id and c.v = a.id)) order by id
select id from a o where x = (select min(x) from a i where i.y > o.y or i.id = o.id) order by id
select id from a o where x > (select avg(x) from a i where i.id <> o.id) order by id
select id, (select string_agg(i.y, ',' order by i.id) from a i where i.id <= o.id) from a o order by id
select id, (select count(*) from a i where i.x < o.x) from a o order by id
select id, (select i.id from a i where i.x < o.x order by i.x desc, i.id limit 1) from a o order by id
select id, (select i.id from a i order by i.id limit 1 offset (select 2)) from a o order by id
select id, (select count(*) from (select 1 from b where b.a_id = a.id limit 1) s) from a order by id
select id, (select count(*) from (select b.z from b where b.a_id = a.id union all select c.v from c where c.u = a.id) s) from a order by id
select id, (select sum(s.z) from (select z from b where a_id = a.id) s) from a order by id
select id, (with w as (select z from b where a_id = a.id) select count(*) from w) from a order by id
select id, exists (values (a.x)) from a order by id
select id, (values (a.x + 1)) from a order by id
select id, x is distinct from (select max(z) from b where b.a_id = a.id) from a order by id
select id, (select count(*) filter (where b.z > a.x) from b) from a order by id
select id, (select count(*) from generate_series(1, a.id)) from a order by id
select id, (select sum(g) from unnest(array[a.id, a.x]) g) from a order by id
select a.id from a join b on b.id = a.id and exists (select 1 from c where c.u = b.id) order by 1
select a.id, b.id from a left join b on b.a_id = a.id and b.z = (select max(z) from b b2 where b2.a_id = a.id) order by 1, 2
select id, q from a, lateral (select (select count(*) from b where b.a_id = a.id) as q) s order by id
select distinct (select count(*) from b where b.a_id = a.id) from a order by 1
select (select a.id) from a order by 1
select (select sum(x) from a where id = b.a_id) from b order by b.id
select (select nothing.id) from a
select (select a.nothing from b limit 1) from a
select (select id from b where b.id = nothing) from a
select id from a where id = (select a_id from b where b.id = 3)
select id from a where id = (select max(a_id) from b where z = 10) or y = 'one' order by id
select id from a where id > (select 2) and id < (select 5) order by id
select id from a where id between (select 2) and (select 4) order by id
select id from a where id in ((select 1), (select 3)) order by id
select id from a where (select true) order by id
select id from a where (select null::bool) order by id
select id from a where not (select id > 3) order by id
select count(*) from a where y like (select '%o%')
select row_number from (select 1 as row_number) s where exists (select)
select (select 1 union all select 2)
select (select 1 union select 1)
select id, (select 'x' || a.y) from a order by id
select id, (select x from a where id = 1) + x from a order by id
select 1 in (select 'x')
select 1 in (select '1'::text)
select 1.0 in (select 1), 1 in (select 1.0), 2 in (select 1.5)
select 'a  '::char(3) in (select 'a'::char(1))
select null in (select 1), null in (select n from none), null not in (select 1)
select 1 in (select null::int), 1 in (select 1 union all select null), 2 in (select 1 union all select null)
select count(*), (select max(id) from b) from a
select x, (select max(id) from b), count(*) from a group by x order by x, (select 1)
select count(*) from a having count(*) = (select count(*) + 1 from c where c.u = 1 limit 1) or (select true)
-- A constant condition on what is counted without groups: it is asked of the count's row, not of the rows that are counted.
select * from (select count(*) as n, 5 as d from a) q where d is null
select * from (select count(*) as n, 5 as d from a) q where d < 5
select * from (select count(*) as n, 5 as d from a group by ()) q where d <> 5
select * from (select 5 as d, count(*) from a group by x) q where d <> 5
select q.*, a.id from a, (select max(id), 5 as d from b) q where d is null
select * from a left join (select count(*) as n, 5 as d from b) q on d is null order by 1
select * from (select 3 as d, id from a where not exists (select 1 from b where b.id = 77777)) q where d < 3
select * from (select 3 as d, id from a where id in (select max(id) from b)) q where d is null
select * from (select count(*) as n, 5 as d from a union all select 1, 2) q where d is null
with w as (select count(*) as n, 5 as d from a) select * from w where d < 5
select count(*) from a having 1 is null
select id, (select count(*) from (select count(*) as n, 5 as d from b) q where d <> 5) from a order by 1
