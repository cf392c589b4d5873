-- Aggregates of a line through points: regr_count and its kin.
create table points (kind text, y float8, x float8);
insert into points values ('line', 1, 1), ('line', 3, 2), ('line', 5, 3), ('cloud', 1, 4), ('cloud', 7, 2), ('cloud', 2.5, 9),
  ('one', 4, 2), ('level', 3, 1), ('level', 3, 2), ('upright', 1, 5), ('upright', 2, 5), ('gaps', null, 1), ('gaps', 1, null), ('gaps', 2, 3), ('none', null, null);
select kind, regr_count(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x) from points group by kind order by kind;
select kind, regr_avgx(y, x), regr_avgy(y, x), regr_r2(y, x), regr_slope(y, x), regr_intercept(y, x) from points group by kind order by kind;
select regr_count(y, x), regr_avgx(y, x), regr_r2(y, x) from points where false;
select regr_slope(y, x) filter (where kind = 'line'), regr_count(distinct y, x) from points;
select kind, y, x, regr_count(y, x) over w, regr_slope(y, x) over w from points window w as (partition by kind order by x, y) order by kind, x, y;
select regr_count(1, 2), pg_typeof(regr_count(1, 2)), pg_typeof(regr_slope(1, 2));
select regr_slope(n, n * 2), regr_intercept(n, n * 2 + 1), regr_r2(n::numeric, n::float4) from generate_series(1, 10) n;
select regr_count('infinity'::float8, 'nan'), regr_sxx('infinity'::float8, 'nan'), regr_slope(1, 'infinity'::float8);
select regr_sxx(y, x) from (values (1, 1e200::float8), (2, -1e200)) v (y, x);
select regr_count(y, x) from (values (1, 1e200::float8), (2, -1e200)) v (y, x);
select regr_slope('a', 1);
select regr_slope(1);
select proname, prorettype::regtype, proargtypes from pg_proc where proname like 'regr%' and prokind = 'a' order by oid;
drop table points;
