create table ti(id int primary key, v int); insert into ti values (1,5),(2,3),(3,5),(4,1),(5,3),(6,null),(7,null)
select v from ti order by v fetch first 2 rows with ties
select v from ti order by v desc fetch first 1 row with ties
select v from ti order by v desc nulls last fetch first 1 row with ties
select id, v from ti order by v, id fetch first 2 rows with ties
select v from ti order by v offset 1 rows fetch next 1 rows with ties
select v from ti order by v offset 2 rows fetch next 1 rows with ties
select v from ti order by v fetch first 0 rows with ties
select v from ti order by v fetch first 100 rows with ties
select v from ti order by v offset 100 fetch first 1 rows with ties
select v * 2 from ti order by v fetch first row with ties
select v, count(*) from ti group by v order by count(*) desc, v nulls first fetch first 2 rows with ties
select count(*) from ti group by v order by count(*) desc fetch first 2 rows with ties
select distinct v from ti order by v fetch first 2 rows with ties
select v from ti union all select 1 order by v fetch first 1 rows with ties
values (1), (1), (2) order by 1 fetch first 1 row with ties
select v from ti fetch first 1 rows with ties
select v from ti order by v fetch first (-1) rows with ties
select v from ti order by v fetch first (null) rows with ties
select count(*) from (select v from ti order by v fetch first 2 rows with ties) t
select v from ti where v in (select v from ti order by v desc nulls last fetch first 1 row with ties) order by v
select id from ti order by id fetch first 3 rows with ties
select v, rank() over (order by v) from ti order by 2 fetch first 2 rows with ties
