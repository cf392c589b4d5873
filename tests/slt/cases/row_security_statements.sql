create role rs_alice login
create role rs_bob login
create role rs_own
create role rs_vw
grant rs_own to rs_vw
create table tenants (id int primary key, who name)
create table acc (id int primary key, tenant int, note text, secret text)
create index acc_tenant on acc(tenant)
insert into tenants values (1,'rs_alice'),(2,'rs_bob'),(3,'rs_bob')
insert into acc select i, i % 4, 'n'||i, 's'||i from generate_series(1,20) i
alter table acc owner to rs_own
grant select on tenants to rs_alice, rs_bob, rs_vw, rs_own
grant all on acc to rs_alice, rs_bob, rs_vw
alter table acc enable row level security
create policy t on acc using (tenant in (select id from tenants where who = current_user))
set role rs_alice
select id, tenant from acc order by 1
select a.id, b.id from acc a join acc b on a.id + 1 = b.id or a.id = b.id order by 1, 2
select t.id, a.id from tenants t left join acc a on a.tenant = t.id order by 1, 2
select t.id, a.id from acc a right join tenants t on a.tenant = t.id order by 1, 2
select t.id, a.id from tenants t full join acc a on a.tenant = t.id order by 1, 2
select t.id, (select count(*) from acc a where a.tenant = t.id) from tenants t order by 1
select t.id from tenants t where exists (select 1 from acc a where a.tenant = t.id) order by 1
select t.id from tenants t where t.id not in (select tenant from acc a) order by 1
with w as (select * from acc) select count(*) from w
select * from acc where id = 5
select * from acc where id = 6
update acc set note = 'x' where id in (5,6)
update acc set tenant = 2 where id = 5
delete from acc a using tenants t where t.id = a.tenant and a.id > 15 returning a.id
insert into acc values (100, 1, 'i', 's')
insert into acc values (101, 2, 'i', 's')
insert into acc select id + 200, tenant, note, secret from acc
insert into acc (id, tenant) select i, i % 2 from generate_series(300, 303) i
with d as (delete from acc where id > 200 returning id) select count(*) from d
select id from acc order by id for update
copy acc (id, tenant) to stdout
copy (select id from acc order by 1) to stdout
reset role
create function leak(text) returns bool language plpgsql cost 0.0000001 as $$ begin raise notice 'leak %', $1; return true; end $$
grant execute on function leak(text) to public
set role rs_alice
select id from acc where leak(secret) order by id
select id from acc where leak(secret) and id < 8 order by id
select count(*) from acc where 1 / (id - 2) > -5
select count(*) from acc where 1 / (id - 5) > -5
select t.id from tenants t join acc a on leak(a.secret) and t.id = a.tenant where a.id < 10 order by 1
reset role
create view v1 as select * from acc
grant select, update, insert, delete on v1 to rs_alice, rs_bob
alter view v1 owner to rs_vw
set role rs_alice
select count(*) from v1
update v1 set note = 'v'
insert into v1 values (500, 1)
reset role
alter view v1 owner to rs_bob
set role rs_alice
select id, tenant, current_user from v1 order by 1
update v1 set note = 'v' where id = 2
update v1 set tenant = 1 where id = 9
insert into v1 values (500, 2)
insert into v1 values (501,1)
reset role
set role rs_own
select count(*) from acc
update acc set note = note
reset role
alter table acc force row level security
set role rs_own
select count(*) from acc
insert into acc values (600, 1)
set row_security = off
select count(*) from acc
reset row_security
reset role
alter table acc no force row level security
create policy r on acc using (exists (select 1 from acc a where a.id = acc.id))
set role rs_alice
select count(*) from acc
reset role
drop policy r on acc
create function cnt() returns bigint language sql as 'select count(*) from acc'
create function cntp() returns bigint language plpgsql as $$ declare n bigint; begin select count(*) into n from acc; return n; end $$
create function cntd() returns bigint language plpgsql security definer as $$ declare n bigint; begin select count(*) into n from acc; return n; end $$
create function cnte() returns bigint language plpgsql as $$ declare n bigint; begin execute 'select count(*) from acc' into n; return n; end $$
create procedure add(i int, t int) language plpgsql as $$ begin insert into acc (id, tenant) values (i, t); end $$
create procedure chg(i int, t int) language plpgsql as $$ begin update acc set tenant = t where id = i; end $$
create procedure rem(i int) language plpgsql as $$ declare n int; begin delete from acc where id = i; get diagnostics n = row_count; raise notice 'gone %', n; end $$
select cnt(), cntp(), cntd(), cnte()
set role rs_alice
select cnt(), cntp(), cntd(), cnte()
call add(700, 1)
call add(701, 2)
call chg(700, 2)
call chg(700, 1)
call chg(10, 1)
call rem(700)
call rem(10)
reset role
set role rs_bob
select cnt(), cntp(), cntd(), cnte()
call add(702, 1)
call add(703, 2)
call rem(703)
set row_security = off
select cntp()
select cntd()
call rem(1)
reset row_security
reset role
alter function cntd() owner to rs_bob
set role rs_alice
select cntd(), cntp()
reset role
alter function cntd() owner to current_user
create table tr (id int primary key, who name, n int default 0)
insert into tr values (1,'rs_alice'),(2,'rs_bob')
alter table tr enable row level security
grant all on tr to rs_alice, rs_bob
create policy p on tr using (who = current_user)
create policy c on tr as restrictive using (true) with check (n < 5)
create function tf() returns trigger language plpgsql as $$ begin if new.n = 3 then new.who := 'rs_bob'; end if; if new.n = 2 then new.who := current_user; end if; new.n := new.n + 1; return new; end $$
create function ta() returns trigger language plpgsql as $$ begin raise notice '% %', tg_op, coalesce(new.id, old.id); return null; end $$
create trigger b before insert or update on tr for each row execute function tf()
create trigger a after insert or update or delete on tr for each row execute function ta()
set role rs_alice
insert into tr values (3, 'rs_alice', 1), (4, 'rs_bob', 2)
insert into tr values (5, 'rs_alice', 3)
insert into tr values (5, 'rs_bob', 1)
insert into tr values (6,'rs_alice',4)
update tr set n = 1
update tr set n = 3
update tr set n = 10 where id = 1
select * from tr order by 1
insert into tr values (2,'rs_alice',1) on conflict (id) do update set n = 1
insert into tr values (1,'rs_alice',1) on conflict (id) do update set n = 2
insert into tr values (1,'rs_alice',1) on conflict (id) do update set n = 3
delete from tr where id in (2, 3)
reset role
select * from tr order by 1
create table mt (id int primary key, who name, n int)
insert into mt values (1,'rs_alice',1),(2,'rs_bob',1),(3,'rs_alice',9)
alter table mt enable row level security
grant all on mt to rs_alice
create policy s on mt for select using (true)
create policy i on mt for insert with check (who = current_user)
create policy u on mt for update using (n < 5) with check (n < 7)
create policy d on mt for delete using (n = 1)
set role rs_alice
merge into mt using (values (1, 2), (4, 4)) s(id, n) on mt.id = s.id when matched then update set n = s.n when not matched then insert values (s.id, 'rs_alice', s.n)
merge into mt using (values (3, 2)) s(id, n) on mt.id = s.id when matched then update set n = s.n
merge into mt using (values (1, 8)) s(id, n) on mt.id = s.id when matched then update set n = s.n
merge into mt using (values (8, 8)) s(id, n) on mt.id = s.id when not matched then insert values (s.id, 'rs_bob', 1)
merge into mt using (values (1, 8)) s(id, n) on mt.id = s.id when matched then delete
merge into mt using (values (2, 8)) s(id, n) on mt.id = s.id when matched then delete
merge into mt using (values (3, 8)) s(id, n) on mt.id = s.id when matched then do nothing
reset role
drop policy s on mt
create policy s on mt for select using (n < 3 and who = current_user)
set role rs_alice
select * from mt order by 1
merge into mt using (values (1, 8)) s(id, n) on mt.id = s.id when matched then update set n = 3
merge into mt using (values (1, 8)) s(id, n) on mt.id = s.id when matched then update set n = 2
merge into mt using (values (4, 8)) s(id, n) on mt.id = s.id when not matched then insert values (s.id, 'rs_alice', 1)
merge into mt using (values (9, 8)) s(id, n) on mt.id = s.id when not matched then insert values (s.id, 'rs_alice', 5)
merge into mt using (values (10, 8)) s(id, n) on mt.id = s.id when not matched then insert values (s.id, 'rs_alice', 1)
reset role
select * from mt order by 1
create table par (id int primary key)
create table det (id int primary key, a int not null, b int check (b > 0), c int references par)
insert into par values (1)
insert into det values (1, 1, 1, 1)
alter table det enable row level security
create policy p on det using (true)
grant all on det, par to rs_alice
set role rs_alice
insert into det values (1,1,1,1)
insert into det values (2,null,1,1)
insert into det values (2,1,0,1)
insert into det values (2,1,1,5)
delete from par
reset role
insert into det values (1,1,1,1)
insert into det values (2,1,1,5)
alter table par enable row level security
set role rs_alice
insert into det values (3,1,1,1)
select * from par
select row_security_active('par'), row_security_active('tenants'::regclass)
reset role
create policy cs on tenants using (id = current_setting('app.tenant', true)::int)
alter table tenants enable row level security
set role rs_alice
select * from tenants
set app.tenant = '2'
select * from tenants
prepare q as select * from tenants
execute q
set app.tenant = 1
execute q
select count(*) from acc
reset role
execute q
set role rs_bob
execute q
set row_security = off
execute q
reset row_security
execute q
reset role
deallocate q
prepare q2 as select count(*) from acc
set role rs_alice
execute q2
set role rs_bob
execute q2
reset role
execute q2
alter table tenants disable row level security
set role rs_bob
execute q2
reset role
execute q2
drop function cnt(), cntp(), cntd(), cnte()
create function f(int) returns bool language sql as 'select $1 > 10'
grant execute on function f(int) to public
create policy ff on acc as restrictive using (f(id))
set role rs_bob
select id from acc order by 1
insert into acc values (3, 2)
insert into acc values (903, 2)
update acc set id = 4 where id = 903
reset role
drop function f(int)
drop function f(int) cascade
drop table tenants
drop table tenants cascade
drop table acc cascade
drop table tr, mt, det, par
drop procedure add, chg, rem
drop function tf(), ta(), leak(text)
drop owned by rs_alice, rs_bob, rs_own, rs_vw
drop role rs_alice, rs_bob, rs_own, rs_vw
