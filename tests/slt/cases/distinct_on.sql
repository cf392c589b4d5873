create table o(id int primary key, g text, v int); insert into o values (1,'a',3),(2,'a',1),(3,'b',2),(4,'b',2),(5,null,9),(6,null,8),(7,'c',null)
select distinct on (g) g, id, v from o order by g, v, id
select distinct on (g) id from o order by g nulls first, v desc nulls last, id desc
select distinct on (g, v) g, v, id from o order by g, v, id
select distinct on (v, g) g, v, id from o order by g, v desc, id
select distinct on (1) g, id from o order by 1, 2 desc
select distinct on (x) g as x, id from o order by x, id
select distinct on (g) count(*), g from o group by g order by g
select distinct on (c) count(*) as c, g from o group by g order by c, g
select distinct on (g) g, row_number() over (order by id) from o order by g, id
select distinct on (g) g, id from o order by g, id limit 2 offset 1
select distinct on (upper(g)) upper(g), id from o order by upper(g), id desc
select distinct on (id) id from o order by id desc
select count(*) from (select distinct on (g) * from o) t
select distinct on (g) g, id from o order by id
select distinct on (g) g, id from o order by id, g
select distinct on (g, v) id from o order by g, id
select distinct on (g) g from o order by g, g desc, id
select distinct on (nothing) g from o
select distinct on (9) g from o
select distinct on (g) g from o for update
select * from (select distinct on (9) g from o) x
select distinct on (a.g) a.id, b.id from o a join o b using (g) order by a.g, b.id desc, a.id
select distinct on (g) g, id from o where g is not null order by g desc, id
select distinct on (true) id from o order by true, id desc
