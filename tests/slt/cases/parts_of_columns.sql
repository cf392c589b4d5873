-- Elements and slices of arrays as targets of UPDATE, and documents with subscripts.
create table lists (id int primary key, numbers int[], words varchar(3)[], doc jsonb)
insert into lists values (1, '{1,2,3}', '{a,b}', '{"a": [1, {"b": "x"}]}'), (2, null, '{p}', null)
update lists set numbers[2] = 22, words[1] = 'z' where id = 1
select * from lists order by id
update lists set numbers[5] = 5 where id = 1
update lists set numbers[1] = id, numbers[2] = id + 1, words[2] = 'q' where id = 2
select numbers, words from lists order by id
update lists set numbers[2:3] = '{7,8,9}'
update lists set numbers[4:3] = '{7,8,9}'
update lists set numbers[2:3] = '{7}'
select numbers from lists order by id
update lists set numbers[null] = 1
update lists set numbers[1] = null where id = 2 returning numbers, numbers[1] is null
update lists set words[1] = 'abcd'
update lists set numbers['x'] = 1
update lists set id[1] = 1
update lists set numbers[1] = 'x'
update lists set numbers[numbers[1]] = numbers[1] + l.id from (select 1 as id) l where lists.id = 1
select numbers from lists order by id
insert into lists (id, numbers) values (1, '{1}') on conflict (id) do update set numbers[1] = excluded.numbers[1] + 100 returning numbers
update lists set numbers = '{1}', numbers[1] = 2
select doc['a'], doc['a'][0], doc['a'][1]['b'], doc['x'], doc['a'][-1] from lists order by id
select ('[1,2]'::jsonb)[1], ('{"1": 2}'::jsonb)['1'], (doc)['a'][id] from lists where id = 1
select doc[1.5] from lists
select doc['a':'b'] from lists
select id from lists where doc['a'][0] = '1' and doc['a'][1]['b'] = '"x"'
drop table lists
