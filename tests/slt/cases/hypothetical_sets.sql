-- Where a row would stand that is not there.
create table hs(a int, b text, c numeric, d char(3), g int)
insert into hs select nullif(i % 7, 6), chr(97 + i % 4), i / 4.0, case when i % 5 > 0 then 'x' || i % 3 end, i % 3 from generate_series(1, 23) i
select rank(3) within group (order by a), dense_rank(3) within group (order by a), percent_rank(3) within group (order by a), cume_dist(3) within group (order by a) from hs
select rank(3) within group (order by a desc), dense_rank(3) within group (order by a desc), percent_rank(3) within group (order by a desc), cume_dist(3) within group (order by a desc) from hs
select rank(null) within group (order by a), rank(null) within group (order by a nulls first), dense_rank(null) within group (order by a desc), cume_dist(null) within group (order by a desc nulls last) from hs
select rank(2, 'b') within group (order by a, b), dense_rank(2, 'b') within group (order by a, b), rank(2, 'b') within group (order by a desc, b), cume_dist(2, 'b') within group (order by a nulls first, b desc) from hs
select rank(2.5) within group (order by a), rank('2') within group (order by a), rank(2::smallint) within group (order by c), rank('b'::varchar) within group (order by b) from hs
select rank('x1') within group (order by d), rank('x1  '::char(6)) within group (order by d), dense_rank('x1'::text) within group (order by d) from hs
select g, rank(g) within group (order by a), cume_dist(g + 1) within group (order by c) filter (where a > 1) from hs group by g order by g
select g, rank(2) within group (order by a) from hs group by rollup(g) order by g
select rank(1) within group (order by a), percent_rank(1) within group (order by a), cume_dist(1) within group (order by a), dense_rank(1) within group (order by a) from hs where false
select rank(1, 2, 3) within group (order by a, c, g), pg_typeof(rank(1) within group (order by a)), pg_typeof(cume_dist(1) within group (order by a)) from hs
select rank(3, 4) within group (order by a) from hs
select rank() within group (order by a) from hs
select rank(max(a)) within group (order by a) from hs
select rank('x') within group (order by a) from hs
select rank(3::text) within group (order by a) from hs
select rank(3) within group (order by a) over () from hs
select rank(date '2024-01-05') within group (order by date '2024-01-01' + a) from hs
drop table hs
