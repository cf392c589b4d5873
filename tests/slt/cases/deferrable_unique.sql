create table du_t (id int primary key deferrable, pos int unique deferrable initially immediate, q int constraint du_q unique deferrable initially deferred, r int, s int, unique (r, s) deferrable)
insert into du_t values (1, 1, 1, 1, null), (2, 2, 2, 2, 2), (3, 3, 3, 3, 3), (4, null, null, 1, null)
update du_t set pos = pos + 1
update du_t set id = id + 1
update du_t set q = q + 1
update du_t set q = q - 1, r = r + 1, s = s + 1
insert into du_t values (9, 9, 2, 9, 9)
insert into du_t values (9, 2, 9, 9, 9)
insert into du_t values (9, 9, 9, 3, 3)
insert into du_t values (9, 9, 9, 9, 9), (10, 9, 10, 10, 10)
update du_t set pos = 2
insert into du_t values (2, 20, 20, 20, 20)
select * from du_t order by id
begin
insert into du_t values (9, 9, 3, 9, 9)
select id from du_t where q = 3 order by id
update du_t set q = 30 where id = 9
commit
select id, q from du_t order by id
begin
insert into du_t values (11, 11, 3, 11, 11)
commit
select id from du_t where q = 3
begin
insert into du_t values (11, 11, 3, 11, 11)
insert into du_t values (12, 11, 12, 12, 12)
rollback
begin
set constraints du_t_pos_key deferred
insert into du_t values (11, 2, 11, 11, 11)
select id from du_t where pos = 2 order by id
set constraints all immediate
rollback
begin
set constraints all deferred
insert into du_t values (11, 2, 11, 11, 11)
delete from du_t where pos = 2 and id <> 11
set constraints du_t_pos_key immediate
insert into du_t values (12, 2, 12, 12, 12)
rollback
begin
set constraints du_q immediate
insert into du_t values (11, 11, 3, 11, 11)
rollback
begin
insert into du_t values (11, 11, 3, 11, 11)
savepoint one
insert into du_t values (12, 12, 3, 12, 12)
rollback to one
delete from du_t where id = 11
commit
begin
insert into du_t values (11, 11, 3, 11, 11)
rollback
insert into du_t values (11, 11, 3, 11, 11) on conflict do nothing
insert into du_t values (11, 11, 3, 11, 11) on conflict (pos) do nothing
insert into du_t values (11, 11, 3, 11, 11) on conflict (id) do update set q = 1
insert into du_t values (11, 11, 3, 11, 11) on conflict on constraint du_q do nothing
create table du_c (x int references du_t)
create table du_c (x int references du_t (id))
create table du_c (x int references du_t (pos))
begin
set constraints du_nope deferred
rollback
select conname, condeferrable, condeferred, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'du_t'::regclass order by 1
select indexrelid::regclass, indisunique, indimmediate, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'du_t'::regclass order by indexrelid::regclass::text
select constraint_name, is_deferrable, initially_deferred from information_schema.table_constraints where table_name = 'du_t' and constraint_type <> 'CHECK' order by 1
create table du_d (a int check (a > 0) deferrable)
create table du_d (a int not null deferrable)
create table du_d (a int unique initially deferred, b int)
create table du_e (like du_d including indexes)
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'du_e'::regclass
alter table du_d alter constraint du_d_a_key not deferrable
insert into du_d values (1, 1), (1, 2)
insert into du_d values (1, 1), (2, 1), (null, 1), (null, 1)
alter table du_d add constraint du_b unique (b) deferrable
alter table du_d add constraint du_ab unique (a, b) deferrable initially deferred
update du_d set b = a
alter table du_d alter column a type bigint using a % 1
alter table du_d add constraint du_b unique (b) deferrable
alter table du_d drop constraint du_d_a_key
insert into du_d values (1, 9)
insert into du_d values (3, 9)
delete from du_d where a = 1
insert into du_d values (1, 1)
truncate du_d
insert into du_d values (1, 1), (2, 2)
create view du_v as select a, b from du_d
update du_v set b = 3 - b
update du_v set b = 1
create function du_f() returns text language plpgsql as $$ begin update du_d set b = 3 - b; insert into du_d values (3, 1); return 'done'; exception when unique_violation then return 'violated'; end $$
select du_f()
select * from du_d order by a
drop function du_f
drop view du_v
create table du_p (id int primary key deferrable initially immediate)
insert into du_p values (1), (2), (3)
update du_p set id = id + 1
update du_p set id = 2
drop table du_t, du_d, du_e, du_p
