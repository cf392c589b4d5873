-- MERGE, clause by clause.
create table s(id int primary key, v text)
insert into s values (1,'one'),(2,'two'),(3,'three')
merge into s using (values (1, 'uno'), (9, 'nueve')) as n(id, v) on s.id = n.id when matched then update set v = n.v when not matched then insert values (n.id, n.v)
select * from s order by id
merge into s as t using (values (1,'x'),(1,'y')) as n(id,v) on t.id=n.id when matched then delete
merge into s as t using (values (1,'x'),(2,'y'),(3,null),(20,'tw')) as n(id,v) on t.id=n.id when matched and n.v is null then do nothing when matched and n.v = 'x' then delete when matched then update set v = t.v || n.v when not matched and n.id > 100 then insert (id) values (n.id) when not matched then insert default values
merge into s as t using (values (1,'x'),(2,'y'),(3,null),(20,'tw')) as n(id,v) on t.id=n.id when matched and n.v is null then do nothing when matched and n.v = 'x' then delete when matched then update set v = t.v || n.v when not matched and n.id > 100 then insert (id) values (n.id) when not matched then insert (id, v) values (n.id, upper(n.v))
select * from s order by id
create table k(a int, b int)
insert into k select i % 5, i from generate_series(1,10) i
merge into k using (select distinct a from k where a < 3) as q on q.a = k.a and k.b > 3 when matched then update set b = b + 100 when not matched then insert values (q.a, 0)
select * from k order by 1,2
select k.* from k order by 1, 2 limit 1
merge into k using s on s.id = k.a when matched then delete
select * from k order by 1,2
merge into k using (select 7 as a) as q on false when not matched then insert (b, a) values (default, q.a)
select * from k where a = 7
create function up(i int, w text) returns int language plpgsql as $$ declare n int; begin merge into s using (select i as id) q on s.id = q.id when matched then update set v = w when not matched then insert values (q.id, w); get diagnostics n = row_count; if not found then return -1; end if; return n; end $$
select up(5,'five'), up(5,'six')
select * from s where id=5
merge into s using s as s on true when matched then delete
merge into s using nope n on true when matched then delete
merge into nope using s on true when matched then delete
merge into s using k on k.a = s.id when matched then update set v = 1 when matched then delete
merge into s using k on k.a = s.id when matched then update set v = s.v || v
merge into s using (select 1 as id, 'ambiguous' as v) q on s.id = q.id when matched then update set v = v
merge into s using (select 1 as id) q on s.id = q.id when not matched then insert values (s.id, 'x')
merge into s using (select 5 as id) q on s.id = q.id when matched then update set id = null
merge into s using (select 5 as id) q on s.id = q.id when matched then update set id = 2
with q as (select 2 as id, 'with' as v) merge into s using q on s.id = q.id when matched then update set v = q.v
merge into s using (select id + 1 as id, v from s) q on s.id = q.id when matched then update set v = q.v when not matched then insert values (q.id, 'new')
select * from s order by id
merge into s using (select 100 as id) q on s.id > q.id when not matched then do nothing
create table g(id int primary key, n int not null default 5, d int generated always as (n * 2) stored)
merge into g using generate_series(1, 3) as q(id) on g.id = q.id when not matched then insert (id) values (q.id)
merge into g using generate_series(2, 4) as q(id) on g.id = q.id when matched and g.n = 5 then update set n = g.n + q.id, id = g.id + 10 when not matched then insert values (q.id, q.id)
select * from g order by id
merge into g using generate_series(1, 30) as q(id) on g.id = q.id when matched and q.id % 2 = 0 then delete
select * from g order by id
drop function up(int, text)
