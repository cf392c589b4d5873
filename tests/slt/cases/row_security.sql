create role rs_alice login
create role rs_bob login
create role rs_boss
create role rs_bypass bypassrls
create table docs (id int primary key, owner name not null, level int, body text)
insert into docs values (1,'rs_alice',1,'a1'),(2,'rs_alice',2,'a2'),(3,'rs_bob',1,'b1'),(4,'rs_bob',2,'b2'),(5,'x',null,'n')
grant select, insert, update, delete on docs to rs_alice, rs_bob, rs_bypass
create policy mine on docs using (owner = current_user) with check (owner = current_user)
set role rs_alice
select * from docs order by id
reset role
alter table docs enable row level security
set role rs_alice
select * from docs order by id
select count(*) from docs
update docs set level = level + 1 returning *
update docs set owner = 'rs_bob' where id = 1
insert into docs values (6,'rs_alice',1,'a6') returning id
insert into docs values (7,'rs_bob',1,'a6')
insert into docs values (3,'rs_alice',1,'a6')
insert into docs values (8,'rs_bob',null,'a6'),(9,null,null,null)
insert into docs values (3,'rs_alice',1,'x') on conflict do nothing
insert into docs values (3,'rs_alice',1,'x') on conflict (id) do nothing
insert into docs values (3,'rs_alice',1,'x') on conflict (id) do update set body = 'hack'
insert into docs values (1,'rs_alice',1,'x') on conflict (id) do update set body = 'ok' returning *
insert into docs values (1,'rs_alice',1,'x') on conflict (id) do update set owner = 'rs_bob'
insert into docs values (1,'rs_bob',1,'x') on conflict (id) do update set owner = 'rs_alice'
delete from docs where id = 3
delete from docs where id = 2 returning *
set row_security = off
select * from docs
update docs set level = 1
insert into docs values (20,'rs_alice')
delete from docs
reset row_security
reset role
set role rs_bypass
select count(*) from docs
reset role
select * from docs order by id
select * from pg_policies
select polname, polcmd, polpermissive, polroles, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) from pg_policy
select relrowsecurity, relforcerowsecurity from pg_class where relname = 'docs'
create policy low on docs as restrictive for select using (level < 3)
create policy wr on docs as restrictive for update using (true) with check (level < 10)
create policy lower2 on docs as restrictive for insert with check (level < 10)
set role rs_alice
select * from docs order by id
insert into docs values (30,'rs_alice',11,'')
insert into docs values (30,'rs_alice',5,'')
insert into docs values (31,'rs_alice',5,'') returning id
update docs set level = 12 where id = 1
update docs set level = 12
update docs set level = 5 where id = 1
update docs set level = 5
reset role
select * from docs order by id
create policy fd on docs as permissive for delete to rs_bob using (true)
create policy fs on docs for select to rs_boss using (level = 2)
grant rs_boss to rs_alice
set role rs_bob
select * from docs order by id
delete from docs where body = 'a1'
delete from docs
reset role
set role rs_alice
select * from docs order by id
reset role
select * from docs order by id
drop role rs_boss
create policy p on nope using (true)
create policy mine on docs using (true)
create policy q on docs for select with check (true)
create policy q on docs for insert using (true)
create policy q on docs using (count(*) > 1)
create policy q on docs using (level)
create policy q on docs using (nocol)
create policy q on docs to public, rs_bob using (true)
alter policy q on docs rename to mine
alter policy q on docs rename to q2
alter policy nope on docs rename to q2
alter policy q2 on docs to rs_bob, rs_boss using (level > 100)
alter policy low on docs with check (true)
alter policy lower2 on docs using (true)
select policyname, roles, cmd, qual, with_check from pg_policies order by 1
drop policy nope on docs
drop policy if exists nope on docs
drop policy if exists nope on nope2
drop policy q2 on docs
alter table docs drop column level
alter table docs alter column level type bigint
alter table docs rename column level to lvl
alter table docs rename to docs2
select policyname, tablename, qual, with_check from pg_policies order by 1
alter table docs2 drop column lvl cascade
select policyname, tablename, qual, with_check from pg_policies order by 1
drop owned by rs_boss
drop role rs_boss
drop table docs2
drop owned by rs_alice, rs_bob, rs_bypass
drop role rs_alice, rs_bob, rs_bypass
