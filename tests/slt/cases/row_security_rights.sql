create role rs_alice login
create role rs_bob login
create role rs_own
create table secret (id int)
insert into secret values (1), (2)
create table o (id int primary key, v int)
insert into o values (1, 1), (2, 2), (3, 3)
grant all on o to rs_alice, rs_bob
alter table o enable row level security
create policy a on o to rs_alice using (id in (select id from secret))
create policy b on o to rs_bob using (id > 1)
create function cnt() returns bigint language plpgsql as 'begin return (select count(*) from o); end'
create procedure upd(i int) language plpgsql as 'begin update o set v = v + 1 where id = i; end'
set role rs_alice
select count(*) from o
select cnt()
call upd(1)
reset role
set role rs_bob
select count(*) from o
select cnt()
call upd(1)
call upd(2)
reset role
alter table o owner to rs_own
set role rs_own
select cnt()
call upd(1)
reset role
grant select on secret to rs_alice
set role rs_alice
select cnt()
call upd(1)
call upd(3)
reset role
create view vo as select * from o
alter view vo owner to rs_alice
grant select, update on vo to rs_bob
create function cntv() returns bigint language plpgsql as 'begin return (select count(*) from vo); end'
create procedure updv(i int) language plpgsql as 'begin update vo set v = v + 1 where id = i; end'
set role rs_bob
select cntv()
call updv(1)
call updv(3)
set row_security = off
select cntv()
call updv(1)
reset row_security
reset role
revoke select on secret from rs_alice
set role rs_bob
select cntv()
call updv(1)
reset role
select * from o order by 1
create function prv(int) returns bool language sql as 'select $1 > 0'
revoke execute on function prv(int) from public
create policy c on o as restrictive using (prv(id))
set role rs_bob
select cnt()
select count(*) from o
reset role
set role rs_own
select cnt()
reset role
grant execute on function prv(int) to rs_bob
set role rs_bob
select cnt()
select count(*) from o
call upd(2)
reset role
drop view vo cascade
drop table o, secret cascade
drop function cnt(), cntv(), prv(int)
drop procedure upd, updv
drop owned by rs_alice, rs_bob, rs_own
drop role rs_alice, rs_bob, rs_own
