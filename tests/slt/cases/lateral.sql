create table t (k int primary key, a int, b int)
create table u (a int, b int)
create table v (a int, b int, primary key (a, b))
insert into t values (1, 3, 4), (2, 3, 3), (3, 4, 4), (4, 1, 1), (5, 4, 3), (6, 5, 4), (7, 1, null), (8, 3, 2)
insert into u values (1, null), (4, 5), (5, null), (4, 3), (3, 5), (5, 4), (5, 1), (4, null), (2, 2)
insert into v values (1, 2), (5, 5), (2, 2), (2, 3), (4, 5), (1, 1), (3, 5)
-- an equality of which one side looks at the outer row
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t join v on t.a = v.a + p.a) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t join v on t.a + p.b = v.a) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t, v where p.b + t.a = p.a + v.a) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t left join v on t.a + 0 = v.a + p.a) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t full join v on t.a = v.a + p.a) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t left join v on t.a + p.b = v.a + p.a left join u x on x.a + p.a = t.b) l order by 1, 2
select p.a, p.b, l.* from u p cross join lateral (select t.a, sum(v.b) from t, v where t.a + p.b = v.a + p.a group by 1 having count(*) > p.a - 3) l order by 1, 2, 3, 4
select p.a, p.b, l.c from u p left join lateral (select v.b c from t, v where t.a = v.a + p.a order by v.b, t.k limit 1) l on true order by 1, 2, 3
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from (select distinct a + p.a as x from v) d join t on t.a = d.x) l order by 1, 2
select p.a, p.b, l.c from u p cross join lateral (select count(*) c from t join (v join u x on v.b = x.b + p.a) on t.a = v.a) l order by 1, 2
select p.a, p.b, (select count(*) from t join v on t.a = v.a + p.a) from u p order by 1, 2
select p.a, p.b from u p where exists (select 1 from t, v where t.a = v.a + p.a) order by 1, 2
select p.a, l.c, m.d from u p cross join lateral (select count(*) c from t join v on t.a = v.a + p.a) l cross join lateral (select sum(v.b) d from t join v on t.a = v.a + l.c - p.a) m order by 1, 2, 3
-- frames of WITH that come anew for each outer row
select p.a, l.s from u p cross join lateral (with w as materialized (select a + p.a as x from t) select sum(w1.x) s from w w1 join w w2 on w1.x = w2.x) l order by 1, 2
select p.a, l.s from u p cross join lateral (with w as materialized (select a from t where a <> p.a) select count(*) s from v join w on v.a = w.a join w w2 on w2.a = v.b) l order by 1, 2
select p.a, l.s from u p cross join lateral (with w as materialized (select a from t where a <> p.a) select count(*) s from v join (select b from t where a in (select a from w)) x on v.a = x.b, w) l order by 1, 2
select p.a, l.s from u p cross join lateral (with w as materialized (select max(a) m from t where a <> p.a) select count(*) s from v join t on v.a + (select m from w) = t.a + (select m from w) + (select m from w) - 1) l order by 1, 2
select p.a, l.s from u p cross join lateral (with w as materialized (select max(a) m from t where a <> p.a) select sum(g * v.a) s from v, generate_series(1, (select m from w)) g, w) l order by 1, 2
-- frames of WITH that stay
with w as materialized (select a, b from t) select p.a, l.c from u p cross join lateral (select count(*) c from v join w on v.a = w.a and w.b <> p.a) l order by 1, 2
with w as materialized (select a, b from t) select p.a, l.c from u p cross join lateral (select count(*) c from v join w on v.a = w.a + p.a) l order by 1, 2
with recursive r(n) as (select 1 union select s.x + 1 from (select distinct a as x from u) s join (select n as m from r offset 0) q on s.x = q.m + 0) select n from r order by 1
with recursive r(n) as (select 1 union select s.x + 1 from (values (1), (2), (3)) s(x) join r on s.x = r.n) select n from r order by 1
