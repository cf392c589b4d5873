create table w(id int primary key, g text, v int, n numeric, f float8, d date, ts timestamp, iv interval, s smallint, b bigint)
insert into w values (1,'a',10,1.5,1.5,'2024-01-01','2024-01-01 00:00','1 day',1,100),(2,'a',20,2.25,2.5,'2024-01-05','2024-01-01 12:00','2 days',2,200),(3,'a',20,null,null,'2024-01-05','2024-01-02 00:00','36 hours',2,null),(4,'b',5,-1.0,'NaN','2024-01-31',null,'1 mon',3,9223372036854775807),(5,'b',null,100.125,'Infinity','2024-02-29','2024-02-29 10:00','30 days',4,9223372036854775806),(6,'b',7,7,'-Infinity',null,'infinity',null,null,-9223372036854775808),(7,null,20,7.0,0,'infinity','-infinity','-1 day',32767,0),(8,null,1,0.1,-2.5,'-infinity','2024-03-01','0',-32768,1)
select id, row_number() over (), row_number() over (order by id desc) from w order by id
select id, rank() over (order by v), dense_rank() over (order by v), row_number() over (order by v, id) from w order by id
select id, rank() over (order by v desc), dense_rank() over (order by v desc nulls last) from w order by id
select id, percent_rank() over (order by v), cume_dist() over (order by v) from w order by id
select id, percent_rank() over (partition by g order by v), cume_dist() over (partition by g order by v desc) from w order by id
select id, ntile(3) over (order by id), ntile(20) over (order by id), ntile(1) over (order by id), ntile(null) over (order by id) from w order by id
select ntile(0) over () from w
select ntile(-1) over () from w where false
select id, lag(v) over (order by id), lead(v) over (order by id), lag(v, 2) over (order by id), lead(v, 2, -1) over (order by id), lag(v, -1) over (order by id), lag(v, null) over (order by id) from w order by id
select id, lag(v, id, 1.5) over (order by id), lag(id::text, 1, 'x') over (partition by g order by id), lead(v, 0) over (order by id) from w order by id
select id, first_value(id) over (partition by g order by id), last_value(id) over (partition by g order by id), nth_value(id, 2) over (partition by g order by id) from w order by id
select id, last_value(id) over (partition by g order by id rows between unbounded preceding and unbounded following), nth_value(v, 3) over (partition by g order by id rows between unbounded preceding and unbounded following) from w order by id
select nth_value(id, 0) over () from w
select id, nth_value(id, null) over (order by id) from w order by id limit 1
select id, sum(v) over (), count(*) over (), avg(v) over (), min(v) over (), max(v) over () from w order by id
select id, sum(v) over (order by id), count(v) over (order by id), avg(v) over (order by id), min(v) over (order by id), max(v) over (order by id) from w order by id
select id, sum(v) over (partition by g), sum(v) over (partition by g order by v), sum(v) over (order by v) from w order by id
select id, sum(v) over (order by id rows between 1 preceding and 1 following), count(*) over (order by id rows between 2 following and 3 following), avg(v) over (order by id rows 2 preceding) from w order by id
select id, sum(n) over (order by id rows between 1 preceding and current row), avg(n) over (order by id rows between 1 preceding and current row), sum(n) over (order by id rows between current row and 2 following) from w order by id
select id, sum(b) over (order by id rows 1 preceding), avg(b) over (order by id rows 1 preceding), sum(s) over (order by id rows 1 preceding) from w order by id
select id, min(v) over (order by id rows 1 preceding), max(n) over (order by id rows between 1 following and 2 following), string_agg(id::text, ',') over (order by id rows between 1 preceding and 1 following) from w order by id
select id, array_agg(id) over (order by id rows between unbounded preceding and 1 preceding), array_agg(id) over (partition by g order by id desc) from w order by id
select id, sum(1<<id) over (order by v range between current row and current row), sum(1<<id) over (order by v range between unbounded preceding and current row) from w order by v, id
select id, array_agg(id) over (order by v, id rows between 5 preceding and 3 preceding), array_agg(id) over (order by id rows between 3 following and 1 following) from w order by id
select id, sum(1<<id) over (order by v groups between 1 preceding and 1 following), sum(1<<id) over (order by v groups between 1 following and 2 following), sum(1<<id) over (order by v groups 0 preceding) from w order by v, id
select id, v, sum(id) over (order by v range between 5 preceding and 5 following), sum(id) over (order by v desc range between 5 preceding and 2 following), sum(id) over (order by v nulls first range between 10 preceding and 3 preceding) from w order by id
select id, sum(id) over (order by v range between unbounded preceding and 5 following), sum(id) over (order by v range between 5 following and unbounded following), sum(id) over (order by v desc nulls last range between 1 following and unbounded following) from w order by id
select id, sum(id) over (order by n range between 1.5 preceding and 0.75 following), sum(id) over (order by f range between 2.5 preceding and 1 following), sum(id) over (order by f desc range between 2.5 preceding and 1 following) from w order by id
select id, sum(id) over (order by f range between 'inf' preceding and 'inf' following), sum(id) over (order by f range between 'inf' preceding and 'inf' preceding), sum(id) over (order by f range between 'inf' following and 'inf' following) from w order by id
select id, sum(id) over (order by d range between interval '1 month' preceding and interval '5 days' following), sum(id) over (order by ts range between '12 hours' preceding and '1 day' following) from w where d is null or isfinite(d) order by id
select id, sum(id) over (order by d desc range between interval '1 month' preceding and current row) from w where isfinite(d) order by id
select id, sum(id) over (order by iv range between '1 day' preceding and '12 hours' following), sum(id) over (order by s range between 1 preceding and 1 following), sum(id) over (order by b range between 1 preceding and 9223372036854775807 following) from w order by id
select id, sum(id) over (order by ts::time range between '1 hour' preceding and '12 hours' following) from w where isfinite(ts) order by id
select id, sum(1<<id) over (order by v, id rows between 1 preceding and 1 following exclude current row), sum(1<<id) over (order by v range between unbounded preceding and unbounded following exclude group), sum(1<<id) over (order by v range between unbounded preceding and unbounded following exclude ties), sum(1<<id) over (order by v groups between 1 preceding and current row exclude no others) from w order by v, id
select id, first_value(id) over (order by v, id rows between unbounded preceding and unbounded following exclude current row), last_value(id) over (order by v, id rows between unbounded preceding and unbounded following exclude current row), nth_value(id, 3) over (order by v, id rows between unbounded preceding and unbounded following exclude group) from w order by id
select id, count(*) over (order by v groups between unbounded preceding and 1 preceding exclude ties), sum(v) over (order by v, id rows between 2 preceding and current row exclude ties) from w order by v, id
select id, sum(v) filter (where id % 2 = 0) over (order by id), count(*) filter (where v > 5) over (partition by g), array_agg(id) filter (where id > 2) over (order by id rows 1 preceding) from w order by id
select id, sum(v) over win, avg(v) over (win order by id), count(*) over (win2 rows 1 preceding) from w window win as (partition by g), win2 as (win order by id) order by id
select id, sum(v) over (win rows 1 preceding) from w window win as (order by id) order by id
select id, bool_and(v > 5) over (order by id), bit_or(v) over (order by id), stddev(v) over (order by id rows 2 preceding), json_agg(id) over (order by id rows 1 preceding) from w order by id
select g, sum(v), sum(sum(v)) over (order by g), rank() over (order by sum(v) desc) from w group by g order by g
select g, count(*), count(*) over (), sum(count(*)) over (order by count(*), g rows unbounded preceding) from w group by g having count(*) > 1 order by g
select count(*) over () from w group by ()
select sum(v) + row_number() over () from w
select row_number() over (order by count(*)) from w
select distinct count(*) over (partition by g) from w order by 1
select distinct g, first_value(v) over (partition by g order by id) from w order by 1
select id from w order by row_number() over (order by v desc, id) limit 3
select id, case when row_number() over (partition by g order by id) = 1 then 'first' else 'more' end from w order by id
select * from (select id, row_number() over (partition by g order by v desc, id) r from w) t where r = 1 order by id
select id, r from (select id, rank() over (order by v) as r from w) t where r between 2 and 4 order by id
select id, lag(r) over (order by id) from (select id, rank() over (order by v) r from w) t order by id
select t.id, u.v, row_number() over (partition by t.g order by u.id desc, t.id) from w t join w u on u.v = t.v order by t.id, u.id
select a, sum(a) over (order by a) from generate_series(1,5) a
select a, sum(a) over (rows between 1 preceding and 1 following) from (values (1),(2),(3)) x(a)
select row_number() over (), * from (values ('x'),('y')) x(a) order by 1
select sum(v) over (order by id rows between -1 preceding and current row) from w
select sum(v) over (order by id rows between null preceding and current row) from w
select sum(v) over (order by id rows between current row and null following) from w
select sum(v) over (order by v range between -1 preceding and current row) from w
select sum(v) over (order by d range between interval '-1 day' preceding and current row) from w
select sum(v) over (order by id rows between v preceding and current row) from w
select sum(v) over (order by id rows between 'x' preceding and current row) from w
select sum(v) over (order by id rows between 1.5 preceding and current row) from w
select sum(v) over (order by g range between 1 preceding and current row) from w
select sum(v) over (order by id range between 1.5 preceding and current row) from w
select sum(v) over (order by d range between 1 preceding and current row) from w
select sum(v) over (order by id, v range between 1 preceding and current row) from w
select sum(v) over (range between 1 preceding and current row) from w
select sum(v) over (groups between 1 preceding and current row) from w
select sum(v) over (order by id rows between unbounded following and current row) from w
select sum(v) over (order by id rows between current row and unbounded preceding) from w
select sum(v) over (order by id rows between current row and 1 preceding) from w
select sum(v) over (order by id rows between 1 following and current row) from w
select sum(v) over (order by id rows between 1 following and 1 preceding) from w
select sum(v) over (order by id rows 1 following) from w
select sum(v) over nowhere from w
select sum(v) over (nowhere) from w
select sum(v) over w1 from w window w1 as (order by id), w1 as (order by v)
select sum(v) over (w1 partition by g) from w window w1 as (order by id)
select sum(v) over (w1 order by g) from w window w1 as (order by id)
select sum(v) over (w1) from w window w1 as (order by id rows 1 preceding)
select sum(v) over w1 from w window w1 as (order by id rows 1 preceding) order by 1
select 1 from w window w1 as (order by nothing)
select id from w where row_number() over () = 1
select g from w group by g having row_number() over () = 1
select g from w group by row_number() over ()
select row_number() over () as r from w group by r
select sum(row_number() over ()) from w
select rank() over (order by rank() over (order by id)) from w
select sum(count(*) over ()) over () from w
select v, row_number() over (order by id) from w group by v
select sum(v) over (order by id) from w group by id
select row_number() from w
select rank() over (order by id) from w for update
select abs(v) over () from w
select upper(g) over () from w
select nothing(v) over () from w
select sum(distinct v) over () from w
select array_agg(v order by id) over () from w
select lag(v) filter (where true) over () from w
select rank(*) over () from w
select count() over () from w
select ntile() over () from w
select ntile('x') over () from w
select lag() over () from w
select lag(v, 'x') over () from w
select lag(v, 1, 'x') over () from w
select lag(null) over () from w
select first_value(1, 2) over () from w
select sum(g) over () from w
update w set v = row_number() over ()
insert into w(id) values (row_number() over ())
delete from w where rank() over () = 1
update w set v = 1 returning row_number() over ()
select id from w limit row_number() over ()
select * from w a join w b on row_number() over () = 1
select id, (select max(r) from (select row_number() over (order by v) r from w x) y) from w order by id limit 1
select id in (select row_number() over (order by v) from w where v > 5) from w order by id
with t as (select id, sum(v) over (order by id) s from w) select * from t where s > 40 order by id
create table w2(id int primary key, r bigint)
insert into w2 select id, row_number() over (order by v desc nulls last, id) from w
select * from w2 order by id
update w2 set r = x.r from (select id, rank() over (order by id desc) r from w2) x where x.id = w2.id
select * from w2 order by id
select row_number() over (order by id) from w union all select 0 order by 1 desc
select id, sum(v) over (order by (select 1)), sum(v) over (partition by 1 order by 'x'::text, id) from w order by id
select id, sum(v) over (order by id rows between 1 + 1 preceding and 2 - 1 preceding) from w order by id
select id, avg(f) over (order by id rows between 1 preceding and current row), sum(f) over (order by id desc rows between current row and 1 following) from w where id in (1,2,3,8,7) order by id
select id, avg(iv) over (order by id rows 1 preceding), sum(iv) over (order by id) from w order by id
select id, count(*) over (order by v range 0 preceding), count(v) over (order by v range 0 preceding) from w order by id
