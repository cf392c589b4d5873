-- Arrays as keys of ordered sets.
select mode() within group (order by x) from (values (array[1,2]), (array[1,2]), (array[3])) v(x)
select percentile_disc(0.5) within group (order by x) from (values (array[1,2]), (array[1,2]), (array[3])) v(x)
select percentile_disc(array[0, 0.5, 1]) within group (order by x) from (values (array[1,2]), (array[1,2]), (array[3])) v(x)
select mode() within group (order by x) from (values (array['a',null]), (array['b']), (array['a',null]), (null)) v(x)
select percentile_disc(0.9) within group (order by x desc) from (values (array['a',null]), (array['b']), (null)) v(x)
select pg_typeof(mode() within group (order by x)) from (values ('{{1,2},{3,4}}'::int[])) v(x)
select k, mode() within group (order by x) from (values (1, array[1.5]), (1, array[2.5]), (2, null)) v(k, x) group by k order by k
select mode() within group (order by x) from (values (array[1,2]), (array[1,2]), (array[3])) v(x) where false
select percentile_disc(array[0.5]) within group (order by x) filter (where x[1] > 1) from (values (array[1,2]), (array[3])) v(x)
select percentile_disc(0.5) within group (order by x), mode() within group (order by x) from (values ('[2,1:2]={{1,2}}'::text)) v(x)
select mode() within group (order by x) from (values ('[0:1]={1,2}'::int[])) v(x)
