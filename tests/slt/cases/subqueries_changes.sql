-- Subqueries in statements that write: they see nothing of what the statement changes.
create table t (id int primary key, v int, w text)
create table s (id int primary key, t_id int, v int)
insert into t values (1, 10, 'a'), (2, 20, 'b'), (3, 30, null), (4, null, 'd')
insert into s values (1, 1, 100), (2, 1, 200), (3, 2, 300), (4, 7, 400)
update t set v = (select sum(s.v) from s where s.t_id = t.id)
select * from t order by id
update t set v = (select s.v from s where s.t_id = t.id)
update t set v = (select count(*) from t i where i.v is null) + coalesce(v, 0)
select * from t order by id
update t set v = (select max(v) from t) + id where exists (select 1 from s where s.t_id = t.id)
select * from t order by id
update t set (v, w) = (select s.v, 'from ' || s.id from s where s.t_id = t.id order by s.id limit 1)
select * from t order by id
update t set (v, w) = (select s.v, 'x' from s)
update t set (v, w) = (select s.v from s)
update t set (w, v) = (select 'w' || t.id, t.id * 2)
select * from t order by id
update t set v = 1 where id in (select t_id from s where s.v > t.v) returning id, (select count(*) from t where v = 1)
select * from t order by id
update t set v = (select 5) where id = 1 returning v, (select v from t i where i.id = t.id)
insert into t values (5, (select max(id) from t), (select 'five'))
insert into t values (6, (select count(*) from t), 'six'), (7, (select count(*) from t), 'seven')
select * from t order by id
insert into t (id, v) select id + 10, (select count(*) from t) from s returning id, v, (select count(*) from t)
select * from t order by id
insert into t values (20, 1, 'x') returning id, (select count(*) from s where s.t_id = t.v)
insert into t values (20, 1, 'y') on conflict (id) do update set w = (select 's' || count(*) from s where s.t_id = excluded.v) returning *
insert into t values (20, 1, 'y') on conflict (id) do update set w = 'never' where exists (select 1 from s where s.id = 99) returning *
delete from t where id > 10 and not exists (select 1 from s where s.id + 10 = t.id) returning id, (select count(*) from t)
delete from t where v = (select min(v) from t) returning id
delete from t where v < (select avg(v) from t i where i.id <> t.id)
select * from t order by id
delete from s using t where s.t_id = t.id and t.v >= all (select v from t) returning s.id
select * from s order by id
create table u (n int, m int default 3)
insert into u select g, (select count(*) from u) from generate_series(1, 3) g
select * from u order by n
insert into u select (select max(n) from u) + g from generate_series(1, 2) g
select * from u order by n
insert into u values ((select n from u))
create table bad (n int default (select 1))
create table bad (n int check (n > (select 1)))
