-- Joins of any kind: optional sides of several tables, FULL, LATERAL, aliases.
create table a (id int primary key, x int)
create table b (id int primary key, a_id int, y int)
create table c (id int primary key, b_id int, z text)
create table d (k int, t text)
create table none (k int, t text)
insert into a values (1, 1), (2, 2), (3, null), (4, 4)
insert into b values (1, 1, 1), (2, 1, 2), (3, 2, null), (4, null, 4), (5, 9, 9)
insert into c values (1, 1, 'p'), (2, 3, 'q'), (3, 3, 'r'), (4, 9, 's'), (5, null, 't')
insert into d values (1, 'one'), (1, 'uno'), (2, 'two'), (null, 'null'), (5, 'five')
select * from a left join (b join c on c.b_id = b.id) on b.a_id = a.id order by 1, 3, 6
select * from a left join (b left join c on c.b_id = b.id) on b.a_id = a.id order by 1, 3, 6
select * from a left join (b cross join d) on b.a_id = a.id and d.k = a.x order by 1, 3, 6, 7
select * from a left join (select b.*, c.z from b join c on c.b_id = b.id) s on s.a_id = a.id order by 1, 3, 6
select * from a left join (select 1 as one) s on a.x = s.one order by 1
select * from a left join (select 1 as one) s on false order by 1
select * from a left join lateral (select a.x + 1 as n) s on a.x > 1 order by 1
select * from a left join lateral (select b.id, b.y + a.x as n from b where b.a_id = a.id) s on true order by 1, 3
select * from a cross join lateral (select count(*) from b where b.a_id = a.id) s order by 1
select * from a, lateral (select * from b where b.a_id = a.id order by b.id desc limit 1) s order by 1
select * from a, lateral (select * from b where b.a_id = a.id) s, lateral (select * from c where c.b_id = s.id and a.x is not null) t order by 1, 3, 6
select * from a left join lateral (select * from b where b.a_id = a.id union all select 0, 0, a.x) s on s.y is not null order by 1, 3
select a.id, g from a, lateral generate_series(1, a.x) g order by 1, 2
select a.id, s.* from a left join lateral (select max(z), min(c.id) from c join b on b.id = c.b_id where b.a_id = a.id) s on true order by 1
select * from (b join c on c.b_id = b.id) right join a on b.a_id = a.id order by 7, 1, 4
select * from b join c on c.b_id = b.id right join a on b.a_id = a.id order by 7, 1, 4
select * from a full join b on b.a_id = a.id order by 1, 3
select * from a full join b on b.a_id = a.id and b.y > 1 order by 1, 3
select * from a full join none on none.k = a.id order by 1
select * from none full join a on none.k = a.id order by 3
select * from none full join none n on none.k = n.k
select * from a full join d on d.k = a.x order by 1, 4
select * from a full join b using (id) order by 1
select id, a.id as aid, b.id as bid from a full join b using (id) order by 1
select * from a full join b using (id) full join c using (id) order by 1
select id from a natural full join b order by 1
select * from a full join (b full join c on c.b_id = b.id) on b.a_id = a.id order by 1, 3, 6
select * from a full join b on b.a_id = a.id left join c on c.b_id = b.id order by 1, 3, 6
select * from a full join b on b.a_id = a.id where a.id is null or b.id is null order by 1, 3
select count(*), count(a.id), count(b.id) from a full join b on b.a_id = a.id
select * from d full join a on true where false
select * from d full join a on a.x = d.k and d.t > 'o' order by 2, 3
select * from (select * from a where id < 3) s full join (select y, count(*) from b group by y) t on s.x = t.y order by 1, 3
select j.id, j.y from (a join b using (id)) as j order by 1
select j.* from (a join b on b.a_id = a.id) as j (p, q, r) order by p, r
select a.id from (a join b on b.a_id = a.id) as j order by 1
select a.id, u.id from a join b using (id) as u order by 1
select * from a left join b on b.a_id = a.id left join c on c.b_id = b.id order by 1, 3, 6
select * from a left join b on b.a_id = a.id join c on c.b_id = b.id order by 1, 3, 6
select * from a left join b on b.a_id = a.id join c on c.id = coalesce(b.id, a.id) order by 1, 3, 6
select * from a left join b on b.a_id = a.id, lateral (select b.y as n) s order by 1, 3
select * from a left join b on b.a_id = a.id, lateral (select count(*) as n from c where c.b_id = b.id) s order by 1, 3
select * from a left join b on b.a_id = a.id cross join lateral generate_series(1, b.y) g order by 1, 3, 6
select * from a left join (b join c on c.b_id = b.id join d on d.k = b.id) on b.a_id = a.id and d.t <> 'uno' order by 1, 3, 6
select * from (a left join b on b.a_id = a.id) left join (c join d on d.k = c.id) on c.b_id = b.id order by 1, 3, 6, 10
select * from a left join b on exists (select 1 from c where c.b_id = b.id) and b.a_id = a.id order by 1, 3
select * from a where (select count(*) from b full join c on c.b_id = b.id and b.a_id = a.id) > 8 order by 1
select * from a where exists (select 1 from b left join c on c.b_id = b.id where b.a_id = a.id and c.id is null) order by 1
select * from a where id in (select b.a_id from b left join (c join d on d.k = c.id) on c.b_id = b.id where d.t is null) order by 1
select d1.t, d2.t from d d1 join d d2 on d1.k = d2.k order by 1, 2
select d1.t, d2.t from d d1 left join d d2 on d1.k = d2.k and d1.t < d2.t order by 1, 2
select a.id, b.id from a right join b on b.a_id = a.id and a.x is not null order by 2
select * from a natural left join b order by 1
select * from a left join b using (id) right join c using (id) order by 1
select a.id from a left join b on nothing.id = a.id
select * from a join a on true
