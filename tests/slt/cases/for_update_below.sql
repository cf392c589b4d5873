create table fu_t (id int primary key, a int)
insert into fu_t values (1, 1), (2, 2), (3, 2)
create view fu_v as select * from fu_t where a > 1
create view fu_w as select id from fu_v
create view fu_g as select a, count(*) from fu_t group by a
select * from (select * from fu_t) s order by id for update
select * from (select * from fu_t) s order by id for share of s nowait
select * from (select a, count(*) from fu_t group by a) s for update
select * from (select distinct a from fu_t) s for update
select * from (select a from fu_t union select 1) s for update
select * from (select row_number() over () from fu_t) s for update
select * from (select max(a) from fu_t) s for share
select * from (values (1)) s(x) for update
select * from (values (1)) s(x) for update of s
select * from generate_series(1, 2) g for update
select * from generate_series(1, 2) g for update of g
with w as (select * from fu_t) select * from w order by id for update
with w as (select * from fu_t) select * from w for update of w
with w as materialized (select * from fu_t) select w.id, fu_t.id from w join fu_t using (id) order by 1 for update
select * from fu_v order by id for update
select * from fu_w order by id for update of fu_w skip locked
select * from fu_g for update
select * from fu_t left join (select * from fu_t) s on s.id = fu_t.id for update
select * from fu_t left join (select * from fu_t) s on s.id = fu_t.id order by 1 for update of fu_t
select * from fu_t left join fu_v on fu_v.id = fu_t.id for update of fu_v
select * from fu_t left join (fu_v join fu_w using (id)) on fu_v.id = fu_t.id for update of fu_w
select * from (fu_t join (select id as i, a as b from fu_t) s on s.i = fu_t.id) as j for update of j
select * from (select * from (select id from fu_t order by id limit 1) q) s for update skip locked
select fu_t.id, s.a from fu_t, lateral (select * from fu_t l2 where l2.id = fu_t.id) s order by 1 for update
select * from fu_t where id in (select id from fu_t for update) order by id for update
select t1.id from fu_t t1 where exists (select 1 from fu_t) order by 1 for update of t1 for share of t1
select * from fu_t for update of nope
select * from (select generate_series(1, 2) from fu_t) s for update
select max(a) from fu_t for update
select a from fu_t group by a for update
select distinct a from fu_t for share
select a from fu_t union select 1 for update
select row_number() over () from fu_t for update
select generate_series(1, 2) from fu_t for update
select a from fu_t group by a having true for no key update
select 1 as one from (select 1 as x) s for update of s
select * from (select x from (select id as x from fu_t) q where x > 1) s where x < 3 for key share
update fu_t set a = 5 where id in (select id from (select id from fu_t) s where id > 1 for update) returning id
delete from fu_t where id = (select id from fu_v order by id limit 1 for update skip locked)
select * from fu_t order by id
drop table fu_t cascade
