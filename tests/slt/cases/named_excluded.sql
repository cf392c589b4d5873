-- A table that is called as the row proposed, and MERGE from joins that keep the right side.
create table excluded(id int primary key, v int)
insert into excluded values (1, 1)
insert into excluded values (1, 5) on conflict (id) do update set v = excluded.v
insert into excluded as e values (1, 5) on conflict (id) do update set v = e.v + excluded.v returning *
insert into excluded values (1, 5) on conflict (id) do update set v = 7 where excluded.v > 0
insert into excluded values (2, 5) on conflict (id) do nothing returning excluded.v
drop table excluded
create table mj(id int primary key, v int)
insert into mj values (1, 10), (2, 20), (3, 30)
create table mj_left(id int, x int)
create table mj_right(id int, y int)
insert into mj_left values (1, 1), (5, 5)
insert into mj_right values (1, 100), (2, 200)
merge into mj using (mj_left right join mj_right using (id)) on mj.id = id when matched then update set v = y
merge into mj using mj_left right join mj_right using (id) on mj.id = mj_right.id when matched then update set v = mj.v + y
select * from mj order by 1
merge into mj m using mj_left full join mj_right using (id) on m.id = coalesce(mj_left.id, mj_right.id) when matched then update set v = coalesce(x, 0) + 1 when not matched then insert values (id, x)
select * from mj order by 1
merge into mj m using mj_left full join mj_right using (id) as u on m.id = u.id when matched then update set v = u.id * 1000 + coalesce(mj_left.id, 0)
select * from mj order by 1
merge into mj m using mj_left join mj_right using (id) as u on m.id = u.id when matched then update set v = u.id
select * from mj order by 1
drop table mj, mj_left, mj_right
