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
create function sq(int) returns int language plpgsql as $$ begin return $1; end $$
create sequence sqn start 2
grant all on sequence sqn to public
set role rs_alice
insert into acc values (1, 1) on conflict (id) do update set note = 'up' returning id, note
insert into acc values (2, 1) on conflict (id) do update set note = 'up' returning id, note
insert into acc values (1, 2) on conflict (id) do update set note = 'up' returning id, note
insert into acc values (1, 1) on conflict (id) do update set tenant = 2
insert into acc values (1, 1) on conflict (id) do update set tenant = 2 where acc.note = 'no'
insert into acc values (1, 1) on conflict (id) do update set tenant = excluded.tenant, note = excluded.note || 'x' where acc.note = 'up' returning *
update acc set tenant = sq(1) where id = 1 returning tenant
update acc set tenant = sq(2) where id = 1
update acc set tenant = nextval('sqn') where id = 5
update acc set (tenant, note) = (select id, who from tenants where id = 1) where id < 6 returning id
update acc set (tenant, note) = (select id, who from tenants where id = 2) where id < 6 returning id
insert into acc (id, tenant, note) select 1000 + id, tenant, (select max(note) from acc) from acc order by id returning id
delete from acc where id >= 1000
reset role
select * from acc where id < 10 order by id
create view vi with (security_invoker) as select * from acc where id < 12
create view vo as select * from acc where id < 12
create view vb with (security_barrier = on, security_invoker = false) as select * from acc where id < 12 and note <> 'n3'
create view vvi with (security_invoker = true) as select * from vo
create view vov as select * from vi
grant all on vi, vo, vb, vvi, vov to rs_alice, rs_bob
set role rs_alice
select id from vi order by 1
select count(*) from vo
select count(*) from vb
select count(*) from vvi
select count(*) from vov
update vi set note = 'vi'
update vo set note = 'vo' where id < 3
update vov set note = 'vov' where id < 2
insert into vi values (11, 1, 'x')
insert into vi values (50, 1, 'x'), (51, 2, 'x')
insert into vi values (50, 1)
delete from vi where id = 9
reset role
revoke all on acc from rs_alice
set role rs_alice
select id from vi order by 1
select count(*) from vo
update vi set note = 'x'
select count(*) from vov
reset role
grant all on acc to rs_alice
create function leak(text) returns bool language plpgsql cost 0.0000001 as $$ begin raise notice 'leak %', $1; return true; end $$
select count(*) from vb where leak(secret) and id > 8
delete from vb where leak(secret) and id = 7
update vb set note = 'n7' where leak(secret) and id = 6
set role rs_alice
update vi set note = 'n7' where leak(secret) and id < 6
reset role
select relname, reloptions from pg_class where relname in ('vi', 'vo', 'vb', 'vvi') order by 1
alter view vi reset (security_invoker)
alter view vo set (security_invoker = true, security_barrier)
select relname, reloptions from pg_class where relname in ('vi', 'vo', 'vb', 'vvi') order by 1
set role rs_alice
select count(*) from vi
select count(*) from vo
reset role
alter view vo set (security_invoker = maybe)
set role rs_alice
select count(*) from acc
reset role
set role rs_alice
reset role
create table wp (id int primary key, grp int)
insert into wp select i, i % 3 from generate_series(1, 9) i
grant all on wp to rs_alice
alter table wp enable row level security
create policy a on wp for select using (true)
create policy b on wp for update using (true) with check (grp in (select 1 union select 2))
create policy c on wp for insert with check ((select count(*) from acc) > 0 and grp > 0)
set role rs_alice
update wp set grp = 1
update wp set grp = 0
insert into wp values (20, 1)
insert into wp values (21, 0)
update wp set grp = case id when 3 then 7 else 1 end
reset role
do $$ begin set local role rs_alice; perform 1 from acc; if (select count(*) from acc) > 5 then raise notice 'many'; else raise notice 'few'; end if; end $$
set role rs_alice
reset role
drop view vi, vo, vb, vvi, vov cascade
drop table acc, tenants, wp
drop function sq(int), leak(text)
drop sequence sqn
drop owned by rs_alice, rs_bob
drop role rs_alice, rs_bob
