create role rs_alice login
create role rs_bob login
create table tenants (id int primary key, who name)
create table acc (id int primary key, tenant int, note text, secret text)
create index acc_tenant on acc(tenant)
insert into tenants values (1,'rs_alice'),(2,'rs_bob'),(3,'rs_bob')
insert into acc select i, i % 4, 'n'||i, 's'||i from generate_series(1,20) i
grant select on tenants to rs_alice, rs_bob
grant all on acc to rs_alice, rs_bob
alter table acc enable row level security
create policy t on acc using (tenant in (select id from tenants where who = current_user))
create function leak(text) returns bool language plpgsql cost 0.0000001 as $$ begin raise notice 'leak %', $1; return true; end $$
create function leaki(text) returns bool language plpgsql immutable cost 0.0000001 as $$ begin raise notice 'leak %', $1; return true; end $$
create function leaks(text) returns int language sql cost 0.0000001 as $$ select 1 $$
grant execute on function leak(text) to public
set role rs_alice
select id from acc where leak(secret) order by id
select id from acc where leak(secret) and id < 8 order by id
select id from acc where leaki(secret) and id < 8 order by id
select t.id from tenants t join acc a on leak(a.secret) and t.id = a.tenant where a.id < 10 order by 1
select t.id from tenants t left join acc a on leak(a.secret) and t.id = a.tenant order by 1
select count(*) from (select * from acc where leak(secret)) x where id > 10
select count(*) from (select * from acc offset 0) x where leak(secret)
update acc set note = note where leak(secret) and id < 6
delete from acc where leak(secret) and id = 4
select t.id, (select count(*) from acc a where a.tenant = t.id and leak(a.secret)) from tenants t order by 1
select exists (select from acc where leak(secret) and id < 5)
select id from acc where substr(secret, 2)::int / (id - 2) > -100 order by id
reset role
drop policy t on acc
create policy t on acc using (tenant = nullif(current_setting('app.tenant', true), '')::int)
set role rs_alice
select count(*) from acc where leak(secret)
set app.tenant = 2
select id from acc where leak(secret) order by id
select id from acc where leak(secret) and id < 8 order by id
select t.id from tenants t join acc a on leak(a.secret) and t.id = a.tenant where a.id < 10 order by 1
select t.id from tenants t left join acc a on leak(a.secret) and t.id = a.tenant order by 1
select count(*) from (select * from acc where leak(secret)) x where id > 10
update acc set note = note where leak(secret) and id < 6
select t.id, (select count(*) from acc a where a.tenant = t.id and leak(a.secret)) from tenants t order by 1
select id from acc where id / (id - 4) > -100 order by 1
select tenant, count(*) from acc group by tenant having leak(max(secret))
select distinct tenant from acc
select max(id) over () from acc limit 1
select id from acc where id in (1, 2, 3) order by 1
select id from acc where id = any(array[1,2,6]) order by 1
select id from acc where tenant = 3
select id from acc where tenant = 2 order by id limit 2
select id from acc union all select -id from acc where id < 5 order by 1
select a.id from acc a where a.id = (select max(id) from acc)
begin
reset role
rollback
reset role
drop policy t on acc
create policy s on acc for select using (id < 10)
create policy u on acc for update using (id between 5 and 15)
set role rs_alice
select id from acc order by 1
select id from acc order by 1 for update
select a.id, t.id from acc a, tenants t where a.id = t.id order by 1
select a.id, t.id from acc a, tenants t where a.id = t.id + 4 order by 1 for share of a
update acc set note = 'u'
update acc set note = 'u' where id > 0 returning id
update acc set note = 'u' where true returning 1
update acc set id = id + 100 where id = 9
update acc set note = id::text
select id from (select * from acc for update) x order by 1
reset role
select id from acc where note = 'u' order by 1
create policy d on acc for delete using (id > 3 )
set role rs_alice
delete from acc where id < 6 returning id
delete from acc
reset role
select count(*) from acc
truncate acc
insert into acc select i, i % 4, 'n'||i, 's'||i from generate_series(1,20) i
drop policy s on acc
drop policy u on acc
drop policy d on acc
create policy a on acc to rs_alice using (tenant = 1)
create policy b on acc to rs_bob using (tenant in (2, 3))
prepare p(int) as select count(*) from acc where id < $1
prepare pu(int) as update acc set note = 'p' where id = $1 returning id
execute p(10)
set role rs_alice
execute p(10)
execute pu(2)
execute pu(1)
set role rs_bob
execute p(10)
execute pu(2)
execute pu(1)
reset role
execute p(10)
execute pu(2)
set role rs_alice
execute p(10)
reset role
drop policy a on acc
set role rs_alice
execute p(10)
reset role
create policy a on acc to rs_alice using (tenant = 3)
set role rs_alice
execute p(10)
reset role
grant rs_bob to rs_alice
discard plans
set role rs_alice
execute p(10)
reset role
revoke rs_bob from rs_alice
discard plans
set role rs_alice
execute p(10)
reset role
alter table acc disable row level security
set role rs_alice
execute p(10)
reset role
alter table acc enable row level security
alter role rs_alice bypassrls
discard plans
set role rs_alice
execute p(10)
reset role
alter role rs_alice nobypassrls
discard plans
set role rs_alice
execute p(10)
reset role
alter table acc owner to rs_alice
set role rs_alice
execute p(10)
reset role
alter table acc force row level security
set role rs_alice
execute p(10)
reset role
alter table acc no force row level security
alter table acc owner to current_user
grant all on acc to rs_alice
deallocate all
begin
set local role rs_alice
select count(*) from acc
commit
select count(*) from acc
begin
set local role rs_alice
savepoint s
reset role
select count(*) from acc
rollback to s
select count(*) from acc
commit
create materialized view mv as select * from acc
alter materialized view mv owner to rs_alice
grant create on schema public to rs_alice
refresh materialized view mv
select count(*) from mv
set role rs_alice
select count(*) from mv
refresh materialized view mv
select count(*) from mv
reset role
drop materialized view mv
create table pt (id int, k int, primary key (id, k)) partition by list (k)
create table pt1 partition of pt for values in (1)
create table pt2 partition of pt for values in (2)
insert into pt select i, 1 + i % 2 from generate_series(1,6) i
alter table pt enable row level security
create policy p on pt using (id > 2) with check (k = 1)
grant all on pt, pt1, pt2 to rs_alice
set role rs_alice
select * from pt order by 1
select * from pt1 order by 1
insert into pt values (9, 1)
insert into pt values (9, 2)
update pt set k = 2 where id = 9
update pt set k = 1
reset role
alter table acc force row level security
alter table acc owner to rs_bob
set role rs_bob
alter table acc add column g int generated always as (id * 2) stored
reset role
select count(*), count(g), count(s) from acc
alter table acc no force row level security
set role rs_alice
reset role
comment on policy a on acc is 'hello'
select description from pg_description where classoid = 'pg_policy'::regclass
comment on policy nope on acc is 'x'
select rolname, rolbypassrls from pg_roles where rolname like 'rsa%' order by 1
drop table acc, tenants
drop function leak(text), leaki(text), leaks(text)
drop owned by rs_alice, rs_bob
drop role rs_alice, rs_bob
