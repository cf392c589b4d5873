-- An expression that is several keys, of which a grouping set leaves out some; what stands first in ORDER BY is no other key that is alike.
create table gk(g int, h int, t text)
insert into gk values (1,1,'x'),(1,2,'y'),(2,1,'x'),(2,2,null),(null,1,'z')
select g a, g b, count(*) from gk group by a, rollup(b) order by 1, count(*), 3
select * from (select g a, g b, grouping(g), count(*) from gk group by a, rollup(b)) s order by s::text
select * from (select g a, g b, count(*) from gk group by rollup(1, 2)) s order by s::text
select * from (select g a, g b, grouping(g), count(*) from gk group by cube(1, 2)) s order by s::text
select * from (select g, g, h, grouping(g, h) from gk group by grouping sets ((g, h), (g), (g, g))) s order by s::text
select * from (select g, g from gk group by rollup(g, g)) s order by s::text
select * from (select g + 1 a, g + 1 b, grouping(g + 1) from gk group by 2, rollup(1)) s order by s::text
select * from (select g + 1 a, g + 1 b, grouping(g + 1) from gk group by 1, rollup(2)) s order by s::text
select * from (select g a, g b, grouping(g) from gk group by rollup(b), rollup(a)) s order by s::text
select * from (select g a, g b, grouping(g) from gk group by b, rollup(a)) s order by s::text
select * from (select g a, g b, g + 1 from gk group by rollup(a), rollup(b)) s order by s::text
select * from (select g a, g b, g c from gk group by 2, rollup(3)) s order by s::text
select * from (select g a, g b, g c, g d from gk group by rollup(4, 2), a, c) s order by s::text
select * from (select g a, g b, count(*) from gk group by a, b) s order by s::text
select * from (select g a, g b, count(*) from gk group by grouping sets ((a, b))) s order by s::text
select * from (select g a, g b from gk group by distinct rollup(a), rollup(b)) s order by s::text
select * from (select g a, g b from gk group by a, rollup(b) having g is null) s order by s::text
select * from (select g a, g b, h from gk group by rollup(a, h), b having grouping(g) = 1) s order by s::text
select * from (select g a, g b, rank() over (order by g, count(*)) from gk group by rollup(a), b) s order by s::text
select * from (select 1 a, 1 b, count(*) from gk group by a, rollup(b)) s order by s::text
select * from (select 'x' a, 'x' b from gk group by rollup(a, b)) s order by s::text
select * from (select 1 a, array[1, count(*)], 1 + 1 from gk group by rollup(a)) s order by s::text
select g, g from gk group by rollup(1, 2) order by g desc nulls last, grouping(g)
select * from (select g x, g x from gk group by rollup(x)) s order by s::text
select g a, h a from gk group by rollup(a)
drop table gk
