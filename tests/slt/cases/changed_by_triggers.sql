-- Rows that BEFORE triggers have changed or removed themselves.
create table ct(id int primary key, v int, w text)
create function ct_before_update() returns trigger language plpgsql as $$ begin if new.w = 'same' then update ct set v = v + 100, w = 't' where id = old.id; end if; if new.w = 'other' then update ct set v = v + 100, w = 't' where id = old.id + 1; end if; if new.w = 'gone' then delete from ct where id = old.id; end if; if new.w = 'other gone' then delete from ct where id = old.id + 1; end if; return new; end $$
create function ct_before_delete() returns trigger language plpgsql as $$ begin if old.w = 'same' then update ct set v = v + 100, w = 't' where id = old.id; end if; if old.w = 'other' then update ct set v = v + 100, w = 't' where id = old.id + 1; end if; if old.w = 'other gone' then delete from ct where id = old.id + 1; end if; return old; end $$
create trigger ct_before_update before update on ct for each row execute function ct_before_update()
create trigger ct_before_delete before delete on ct for each row execute function ct_before_delete()
insert into ct select i, i, 'a' from generate_series(1, 6) i
update ct set w = 'same' where id = 1
update ct set w = 'gone' where id = 1
update ct set w = 'other' where id = 1
select * from ct order by 1
update ct set w = 'other' where id in (1, 2)
update ct set w = 'other gone' where id in (3, 4)
update ct set w = 'other gone' where id = 5
select * from ct order by 1
merge into ct using (values (1, 'same')) s(i, w) on ct.id = s.i when matched then update set w = s.w
merge into ct using (values (1, 'gone')) s(i, w) on ct.id = s.i when matched then update set w = s.w
insert into ct values (1, 5, 'x') on conflict (id) do update set w = 'same'
insert into ct values (1, 5, 'x') on conflict (id) do update set w = 'gone'
insert into ct values (1, 5, 'x') on conflict (id) do update set w = 'b' returning *
update ct set w = s.w from (values (1, 'c'), (1, 'c')) s(i, w) where ct.id = s.i returning ct.*
alter table ct disable trigger ct_before_update
update ct set w = 'same' where id = 1
delete from ct where id = 1
merge into ct using (values (1)) s(i) on ct.id = s.i when matched then delete
update ct set w = 'other' where id = 1
delete from ct where id in (1, 2)
update ct set w = 'other gone' where id = 1
delete from ct where id in (1, 2)
select * from ct order by 1
delete from ct where id = 1
select * from ct order by 1
drop trigger ct_before_delete on ct
create function ct_after() returns trigger language plpgsql as $$ begin if new.v < 5 then update ct set v = v + 1 where id = new.id; end if; return null; end $$
create trigger ct_after after update on ct for each row execute function ct_after()
update ct set v = 1 where id > 3
select * from ct order by 1
create function ct_writes(i int) returns int language plpgsql as $$ begin update ct set v = 1000 where id = i; return i; end $$
update ct set w = 'z' where ct_writes(id) = 3
drop table ct
drop function ct_before_update(), ct_before_delete(), ct_after(), ct_writes(int)
