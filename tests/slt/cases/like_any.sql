-- Patterns by the array.
select 'abc' like any (array['x%','a%']), 'abc' like any (array['x%','y%']), 'abc' like any (array['x%',null]), 'abc' like any ('{}'), 'abc' like all ('{}')
select 'abc' like all (array['a%','%c']), 'abc' like all (array['a%','%d']), 'abc' like all (array['a%',null]), 'abc' like all (array['b%',null])
select 'abc' ilike any ('{A%,B%}'), 'abc' not like any ('{a%,b%}'), 'abc' not like all ('{a%,b%}'), 'abc' not ilike all ('{X%,Y%}'), 'abc' not ilike any ('{A%}')
select 'abc' ~ any (array['^b','c$']), 'abc' ~* all (array['^A','C$']), 'abc' !~ all (array['x','y']), 'abc' !~* any (array['A'])
select null::text like any ('{a}'), 'a' like any (null::text[])
create table la(id int primary key, t text, c char(5), n name, p text[])
insert into la values (1, 'one', 'one', 'one', '{o%}'), (2, 'two', 'two', 'two', '{%x,%o}'), (3, null, null, null, null), (4, 'three', 'three', 'three', '{}')
select id from la where t like any (array['t%']) order by id
select id from la where t like any (p) order by id
select id from la where not t like all (p) order by id
select id from la where c like any ('{two}') order by id
select id from la where c like any ('{two  }') order by id
select id from la where n like any ('{t%}') order by id
select id from la where t ^@ any ('{th,o}') order by id
select id from la where t like any (array[n, 'x']) order by id
prepare lap(text[]) as select id from la where t like any ($1) order by id
execute lap('{%e}')
deallocate lap
create view lav as select id from la where t like any (array['t%', 'o%']) and t !~ all ('{e}')
select * from lav
drop view lav
select 1 like any ('{1}')
select 'a' like any (array[1])
select 'a\' like any ('{"a\\\\"}'), 'a' like any (array['a\'])
select 'ab' like any (array['ab', 'a\'])
select 'a' like any ('a')
drop table la
