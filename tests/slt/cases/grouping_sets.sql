create table gs(id int primary key, a text, b int, c int, v numeric); insert into gs values (1,'x',1,1,10),(2,'x',1,2,20.5),(3,'x',2,1,null),(4,'y',1,1,5),(5,'y',null,2,7),(6,null,2,2,1)
select a, b, sum(v), count(*) from gs group by rollup (a, b) order by 1, 2, 3, 4
select a, b, grouping(a), grouping(b), grouping(a, b), count(*) from gs group by cube (a, b) order by 5, 1, 2, 6
select a, b, c, grouping(a, b, c), count(*) from gs group by grouping sets ((a, b), (c), ()) order by 4, 1, 2, 3
select a, count(*) from gs group by grouping sets (a, ()) order by 1 nulls last, 2
select a, b, c, count(*) from gs group by a, rollup (b, c) order by 1, 2, 3, 4
select a, b, c, count(*) from gs group by rollup (a, (b, c)) order by 1, 2, 3, 4
select a, b, count(*) from gs group by cube (a), cube (b) order by 1, 2, 3
select a, b, count(*) from gs group by grouping sets (rollup (a, b), cube (a)) order by 1, 2, 3
select a, b, count(*) from gs group by grouping sets (a, grouping sets (b, ())) order by 1, 2, 3
select a, count(*) from gs group by distinct rollup (a), rollup (a) order by 1, 2
select a, count(*) from gs group by rollup (a), rollup (a) order by 1, 2
select a, count(*) from gs group by grouping sets ((a), (a)) order by 1, 2
select count(*), sum(v) from gs group by ()
select count(*), sum(v) from gs where false group by ()
select a, count(*) from gs where false group by rollup (a)
select a, count(*) from gs where false group by grouping sets (a, (), ()) order by 1
select a, count(*) from gs where false group by cube (a) having count(*) > 0
select a, sum(v) from gs group by rollup (a) having grouping(a) = 1
select a, sum(v) from gs group by rollup (a) having sum(v) > 10 order by grouping(a), a
select upper(a), count(*) from gs group by rollup (upper(a)) order by 1, 2
select a || '!', count(*) from gs group by rollup (a) order by 1, 2
select coalesce(a, 'none'), case when grouping(a) = 1 then 'all' else a end, count(*) from gs group by rollup (a) order by 1, 2, 3
select a as k, count(*) from gs group by rollup (k) order by k, 2
select a, b, count(*), sum(count(*)) over (partition by grouping(a, b) order by a, b) from gs group by rollup (a, b) order by 1, 2, 3
select a, rank() over (partition by grouping(a) order by sum(v) desc) from gs group by cube (a) order by 1, 2
select grouping(a), count(distinct b), string_agg(c::text, ',' order by id) from gs group by rollup (a) order by 1, 2, 3
select id, a, count(*) from gs group by grouping sets (id, ()) order by 1
select id, a, count(*) from gs group by grouping sets (id, (id, b)) order by 1, 2
select a, b from gs group by rollup (a)
select grouping(b) from gs group by a
select grouping(a) from gs group by a order by a
select grouping(a) from gs
select a from gs where grouping(a) = 1 group by a
select count(grouping(a)) from gs group by a
select a, sum(b) from gs group by (a), () order by 1
select a, b, count(*) from gs group by (a, b) order by 1, 2
select distinct grouping(a) from gs group by rollup (a, b) order by 1
select a, count(*) from gs group by rollup (a) union all select 'z', 0 order by 1, 2
select * from (select a, b, sum(v) s from gs group by cube (a, b)) t where a = 'x' order by b, s
select g.a, t.b, count(*) from gs g join gs t using (id) group by grouping sets (g.a, t.b) order by 1, 2
select a, count(*) from gs group by rollup (a) order by count(*) desc, a limit 2
select count(*) from gs group by cube (a, b, c, v, id, a, b, c, v, id, a, b, c)
select sum(v) filter (where b = 1), a from gs group by rollup (a) order by 2, 1
select a, grouping(a) + 1 from gs group by rollup (a) order by 2, 1
select max(v), a from gs group by a, cube (a) order by 2, 1
select sum(v), a from gs group by rollup (a, nothing)
select a from gs group by rollup (count(*))
