create table sa(a int, b text); insert into sa values (1,'x'),(1,'x'),(1,'x'),(2,'y'),(3,null),(3,null),(null,null)
create table sb(a bigint, b varchar(5)); insert into sb values (1,'x'),(1,'x'),(2,'z'),(3,null),(null,null),(9,'q')
select * from sa intersect select * from sb order by 1, 2
select * from sa intersect all select * from sb order by 1, 2
select * from sa except select * from sb order by 1, 2
select * from sa except all select * from sb order by 1, 2
select * from sb except select * from sa order by 1, 2
select * from sb except all select * from sa order by 1, 2
select a from sa union select a from sb order by 1
select a from sa union all select a from sb order by 1
select a from sa intersect select a from sb union all select 7 order by 1 nulls first
select a from sa union select a from sb intersect select 9 order by 1
(select a from sa union select a from sb) intersect select 9 order by 1
select a from sa except select a from sb except select 4 order by 1
select a from sa except (select a from sb except select 1) order by 1
select a, b from sa except select a, b from sb order by b desc nulls last, a limit 1
select a from sa intersect select a from sb order by a desc nulls first limit 2 offset 1
(select a from sa order by a limit 1) union all (select a from sb order by a desc nulls last limit 1)
select 1 intersect select 1.0
select 1.50 as n intersect select 1.5
select 1.5 as n intersect all select 1.50 except all select 1.500 order by 1
select 'a' union select 'b' order by 1
select 'a' union select 1 order by 1
select '2' union select 1 order by 1
select null union select 1 order by 1
select null union all select null union all select 1
values ('1') union select 2
select '1'::text union select 1
(select '1' limit 1) union select 1 order by 1
(select distinct '1') union select 1
(select '1' order by 1) union select 1
with x as (select '1' as a) select a from x union select 1 order by 1
select 1 intersect select 'x'
select true union select 1
select 1, 2 union select 1
select 1 except select 1, 2
select a from sa intersect select b from sb order by 1
select a from sa union select a from sb order by b
select a from sa union select a from sb order by a + 1
select count(*) from (select * from sa except all select * from sb) t
select count(*) from (select a from sa intersect all select a from sb) t where a > 0
select a from sa where a in (select a from sb except select 1) order by 1
select a from sa where exists (select a from sb intersect select 100)
select array(select a from sa intersect select a from sb where a is not null order by 1)
select distinct a from sa except select distinct a from sb where a > 1 order by 1
select a, count(*) from sa group by a intersect select a, count(*) from sb group by a order by 1
create table sc(a int primary key, b text)
insert into sc select a, b from sa intersect select a, b from sb where a is not null
select * from sc order by a
insert into sc select '7' union select 8
insert into sc(b) select 'x' except select 'x'
select * from sc order by a
with u as (select a from sa except select a from sb), v as (select a from u union select 5) select * from v intersect select a from v order by 1
select date '2024-01-01' union select '2024-01-02' except select date '2024-01-01' order by 1
select 'a'::char(3) intersect select 'a '::char(3)
select array[1,2] except select array[2,1] union select array[1,2] order by 1
select 1 union select 2 limit 0
select 1 as x intersect select 1 as y order by y
select 1 as x intersect select 1 as y order by x
select a from sa for update union select a from sb
select null intersect select null
select generate_series(1,5) intersect select generate_series(3,8) order by 1
select x from generate_series(1,10) x except all select x from generate_series(1,10,2) x order by 1
