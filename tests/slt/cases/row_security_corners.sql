create role rs_alice login
create table nk (a int, b name)
grant all on nk to rs_alice
insert into nk values (1, 'x')
create policy p on nk using (tableoid = 'nk'::regclass and a > 0)
alter table nk enable row level security
set role rs_alice
select * from nk
insert into nk values (2, 'y')
insert into nk values (0, 'y')
update nk set a = a + 1
update nk set a = 0
delete from nk where a = 3 returning *
reset role
select * from nk order by 1
create policy q on nk using (row_number() over () > 0)
create policy q on pg_class using (true)
create policy q on nk using (nk.a = $1)
create policy q on nk to nobody_there using (true)
create policy q2 on nk to current_user, rs_alice with check (false)
create view vnk as select * from nk
create policy z on vnk using (true)
drop policy z on vnk
create sequence sq
set role rs_alice
create policy z on nk using (true)
alter table nk disable row level security
drop policy p on nk
alter policy p on nk to public
alter policy p on nk rename to pp
create policy z on vnk using (true)
reset role
create table gen (id int primary key, a int, g int generated always as (a * 2) stored, s serial)
grant all on gen, gen_s_seq to rs_alice
alter table gen enable row level security
create policy g on gen using (g < 10 and s > 0)
set role rs_alice
insert into gen (id, a) values (1, 1), (2, 4)
insert into gen (id, a) values (3, 5)
update gen set a = 6 where id = 1
update gen set a = 3 where id = 1
insert into gen (id, a) values (1, 1) on conflict (id) do update set a = 9
insert into gen (id, a) values (1, 1) on conflict (id) do update set a = 2
select * from gen order by 1
reset role
create table dflt (id int primary key, owner name default current_user, n int default 1 check (n < 5))
grant all on dflt to rs_alice
alter table dflt enable row level security
create policy d on dflt using (owner = current_user)
set role rs_alice
insert into dflt default values
insert into dflt (id) values (1), (2), (3)
insert into dflt values (4, 'x', 9)
insert into dflt values (4, default, 9)
update dflt set n = n + 1
update dflt set owner = default
update dflt set n = (select max(n) from dflt) + 1 returning id, n
with u as (update dflt set n = 0 returning *) insert into dflt select id + 10, owner, n from u
select * from dflt order by id
select sum(n) filter (where owner = current_user), count(*) from dflt
delete from dflt using dflt d2 where dflt.id = d2.id + 10
table dflt
reset role
do $$ begin execute 'set local role rs_alice'; raise notice '%', (select count(*) from dflt); execute 'set local row_security = off'; begin perform count(*) from dflt; exception when insufficient_privilege then raise notice '%', sqlerrm; end; end $$
create function off() returns bigint language plpgsql set row_security = off as 'begin return (select count(*) from dflt); end'
create function onn() returns bigint language plpgsql set row_security = on as 'begin return (select count(*) from dflt); end'
set role rs_alice
select off()
select onn()
set row_security = off
select onn()
select off()
reset row_security
reset role
select off(), onn()
drop function off(), onn()
drop table dflt, gen, nk cascade
drop sequence sq
drop owned by rs_alice
drop role rs_alice
