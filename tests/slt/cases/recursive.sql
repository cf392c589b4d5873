with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select * from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 100) select sum(n), count(*) from t
with recursive t(n) as (values (1) union all select n + 1 from t) select n from t limit 7
with recursive t(n) as (select 1 union select (n * 7) % 10 from t) select n from t order by n
with recursive t as (select 1 as n, 'a'::text as p union all select n + 1, p || n from t where n < 4) select * from t
create table tree(id int primary key, parent int, name text); insert into tree values (1,null,'root'),(2,1,'a'),(3,1,'b'),(4,2,'aa'),(5,2,'ab'),(6,4,'aaa'),(7,7,'self')
with recursive d as (select id, name, 0 as depth from tree where parent is null union all select c.id, c.name, d.depth + 1 from d join tree c on c.parent = d.id) select * from d order by depth, id
with recursive d(id) as (select 6 union all select t.parent from tree t, d where t.id = d.id and t.parent is not null) select * from d
with recursive d(id) as (select 7 union select t.parent from tree t join d on t.id = d.id) select * from d
with recursive d as (select id, array[id] as path from tree where parent is null union all select c.id, d.path || c.id from tree c, d where c.parent = d.id) select * from d order by path
with recursive d as (select id from tree where id = 2 union all select c.id from tree c join d on c.parent = d.id) delete from tree where id in (select id from d)
select * from tree order by id
with recursive n(i) as (select 10 union all select i + 1 from n where i < 13) insert into tree select i, 1, 'n' || i from n
select * from tree order by id
with recursive n(i) as (select 10 union all select i + 1 from n where i < 12) update tree set name = 'x' || i from n where tree.id = n.i
select * from tree order by id
with recursive a(n) as (select 1 union all select n + 1 from a where n < 3), b(m) as (select n * 10 from a union all select m + 1 from b where m % 10 < 2) select m from b order by m
with recursive t(n) as (select 1 union all (select n + 1 from t where n < 3 union all select 100 where false)) select * from t
with recursive t(n) as (select 1 union all select x from (select n + 1 as x from t where n < 4) s) select * from t
with recursive t(n) as (select 1 union all select n + 1 from (select * from t) s left join tree on tree.id = s.n where s.n < 3) select * from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select a.n, b.n from t a, t b order by 1, 2
with recursive t(n) as materialized (select 1 union all select n + 1 from t where n < 3) select n from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3), u as (select * from t), v as (select * from t union all select * from u) select count(*) from v
with recursive t(n, m) as (select 0, 1 union all select m, n + m from t where m < 50) select n from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < (select max(id) from tree)) select count(*) from t
with recursive t(n) as (select 1::numeric union all select n * 1.5 from t where n < 5) select n from t
with recursive t(n) as (select 1 union all select n * 1.5 from t where n < 5) select n from t
with recursive t(n) as (select '1' union all select n || 'x' from t where length(n) < 3) select n from t
with recursive t(n) as (select 1 union all select n, 2 from t) select n from t
with recursive t as (select 1 as n) select * from t
with recursive t(n) as (select n from t) select * from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3 order by 1) select * from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3 limit 2) select * from t
with recursive t(n) as (select n from t union all select 1) select * from t
with recursive t(n) as (select 1 intersect select n + 1 from t) select * from t
with recursive t(n) as (select 1 except select n + 1 from t) select * from t
with recursive t(n) as (select 1 union all select a.n from t a, t b) select * from t
with recursive t(n) as (select 1 union all select (select n from t)) select * from t
with recursive t(n) as (select 1 union all select 2 where exists (select 1 from t)) select * from t
with recursive t(n) as (select 1 union all select count(*)::int from t) select * from t
with recursive t(n) as (select 1 union all select n from tree left join t on true) select * from t
with recursive t(n) as (select 1 union all select n from t full join tree on true) select * from t
with recursive t(n) as (select 1 union all (select n from t intersect all select 1)) select * from t
with recursive t(n) as (select 1 union all (select 5 except select n from t)) select * from t
with recursive a(n) as (select n from b), b(n) as (select n from a) select * from a
with recursive a(n) as (select n from b), b(n) as (select 3) select * from a
with t(n) as (select 1 union all select n + 1 from t) select * from t
with t as (select 1), t as (select 2) select * from t
with t(a, b) as (select 1) select * from t
with t as (select 1 as a), u as (select a + 1 as a from t) select * from t, u
with t as (select id from tree) select count(*) from t a join t b using (id)
with t as not materialized (select id from tree) select count(*) from t a join t b using (id)
with t as materialized (select id from tree) select id from t where id > 10 order by id
with t as (select random() as r) select a.r = b.r from t a, t b
create sequence sq
with t as (select nextval('sq') as n) select a.n, b.n, currval('sq') from t a, t b
with t as materialized (select nextval('sq') as n) select n from t where false
with t as (select 1 as x) (with t as (select 2 as x) select x from t) union all select x from t order by 1
with a as (select 1 as x), b as (select x from a union all select x + 1 from a), c as (select x from b, (select 1) y union all select x from b) select x, count(*) from c group by x order by x
select * from (with t as (select 1 as x) select a.x, b.x as y from t a, t b) s
with t as (select generate_series(1, 3) as x) select a.x, b.x from t a join t b on a.x = b.x order by 1
with t as (select 'x' as k) select k from t union select k from t
(with t as (select 'x') select 1, 'a' from t a, t b) union all select 2, 3
with t as (select id, name from tree where id > 100) select count(*) from t a, t b
with t as (select id from tree) update tree set name = 'u' from t a, t b where a.id = tree.id and b.id = tree.id
select count(*) from tree where name = 'u'
with t as (select id from tree) delete from tree using t a where a.id = tree.id and tree.id in (select id from t where id > 11)
select count(*) from tree
with recursive t(n) as (select 1 union all select n + 1 from t where n < 20000) select count(*), max(n) from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n, sum(n) over (order by n) from t order by n
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n from t except select 2 order by 1
with recursive t(n) as (select 1 union all select distinct n + 1 from t where n < 3) select n from t
with recursive t(n) as (select 1 union all select max(n) over () + 1 from t where n < 3) select n from t
create view twice as with t as (select id from tree where id < 4) select a.id from t a join t b using (id)
with t as (select id + 100 as id from tree where id < 3) select x.id, v.id from t x, t y, twice v where x.id = y.id order by 1, 2
create view upwards as with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select * from t
with recursive t(n) as (select 7 union all select n + 1 from t where n < 8) select t.n, u.n from t, upwards u order by 1, 2
with recursive t(n) as (select 1 union all select u.n + 1 from t, upwards u where u.n = t.n and u.n < 3) select n from t
drop view twice, upwards
drop sequence sq
