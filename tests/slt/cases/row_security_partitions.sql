create role rs_alice login
create role rs_bob login
create table pt (id int, k int, who name, primary key (id, k)) partition by list (k)
create table pt1 partition of pt for values in (1)
create table pt2 partition of pt for values in (2)
insert into pt select i, 1 + i % 2, case when i < 5 then 'rs_alice' else 'rs_bob' end from generate_series(1, 8) i
grant all on pt, pt1, pt2 to rs_alice, rs_bob
alter table pt1 enable row level security
set role rs_alice
select id from pt order by 1
select id from pt1 order by 1
reset role
create policy w on pt1 using (who = current_user)
create policy pt1r on pt1 as restrictive using (pt1.id > 1)
set role rs_alice
select id from pt order by 1
select id from pt1 order by 1
insert into pt1 values (20, 1, 'rs_bob')
insert into pt1 values (21, 1, 'rs_alice')
update pt1 set id = 1 where id = 21
delete from pt1 where id > 5
reset role
alter table pt enable row level security
create policy p on pt using (id < 4)
set role rs_alice
select id from pt order by 1
select id from pt1 order by 1
select id from pt2 order by 1
reset role
select tablename, policyname, qual from pg_policies order by 1, 2
select relname, relrowsecurity from pg_class where relname in ('pt', 'pt1', 'pt2') order by 1
alter policy w on pt1 rename to ww
comment on policy ww on pt1 is 'c'
alter table pt1 force row level security
alter table pt1 rename to ptx
select tablename, policyname, qual from pg_policies order by 1, 2
set role rs_alice
select id from ptx order by 1
reset role
create table own (b int, who name, k int not null, id int not null, primary key (id, k))
insert into own values (1, 'rs_alice', 3, 50), (1, 'rs_bob', 3, 51)
alter table own drop column b
alter table own enable row level security
create policy o on own using (who = current_user)
grant all on own to rs_alice
alter table pt attach partition own for values in (3)
set role rs_alice
select id from own order by 1
select id from pt order by 1
reset role
alter table pt detach partition own
set role rs_alice
select id from own order by 1
reset role
drop policy ww on ptx
drop policy nope on ptx
drop table ptx
select tablename, policyname, qual from pg_policies order by 1, 2
drop table pt, own
select count(*) from pg_policies
drop owned by rs_alice, rs_bob
drop role rs_alice, rs_bob
