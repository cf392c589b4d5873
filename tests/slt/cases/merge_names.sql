-- A bare name in a subquery of MERGE is its own column before the source's.
create table mt(id int primary key, v text, n int)
create table ms(id int, v text, n int)
create table mo(id int, v text, k int)
insert into mt values (1, 'one', 1), (2, 'two', 2)
insert into ms values (1, 'eins', 10), (3, 'drei', 30)
insert into mo values (1, 'other', 100), (3, 'third', 300)
merge into mt using ms on mt.id = ms.id when matched then update set v = (select v from mo where mo.id = ms.id)
select * from mt order by id
merge into mt using ms on mt.id = ms.id when matched then update set n = (select max(k) from mo where id = 3)
select * from mt order by id
merge into mt using ms on mt.id = ms.id when not matched then insert values (ms.id, (select v from mo where id = ms.id), (select count(*) from mo where id <= n))
select * from mt order by id
merge into mt using ms on mt.id = ms.id when matched and exists (select from mo where id = ms.id and v = 'third') then delete
select * from mt order by id
merge into mt using ms on mt.id = ms.id when matched then update set v = v
merge into mt using ms on mt.id = ms.id when matched then update set v = (select v)
merge into mt using ms on mt.id = ms.id when matched then update set v = (select k from mo ms where ms.id = 1)::text
select * from mt order by id
create function mf(k int) returns int language plpgsql as $$ begin merge into mt using ms on mt.id = ms.id when matched then update set n = (select max(k) from mo); return 0; end $$
select mf(7)
create or replace function mf(p int) returns int language plpgsql as $$ begin merge into mt using ms on mt.id = ms.id when matched then update set n = (select max(n + p + k) from mo); return 0; end $$
select mf(7)
select * from mt order by id
drop function mf
drop table mt, ms, mo
