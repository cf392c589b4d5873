create table log (n serial, said text)
create function tell() returns trigger language plpgsql as $$ begin insert into log (said) values (tg_name || ' ' || tg_when || ' ' || tg_op || ' ' || tg_level || ' ' || tg_table_name || ' ' || tg_relid::regclass || coalesce(' new ' || (new.a)::text, '') || coalesce(' old ' || (old.a)::text, '')); if tg_op = 'DELETE' then return old; end if; return new; end $$
create function tell_statement() returns trigger language plpgsql as $$ begin insert into log (said) values (tg_name || ' ' || tg_when || ' ' || tg_op || ' ' || tg_level || ' ' || tg_table_name); return null; end $$
create table t (a int, b int, c text) partition by range (a)
create table t1 partition of t for values from (0) to (10) partition by list (b)
create table t1x partition of t1 for values in (1)
create table t1y partition of t1 for values in (2, 3)
create table t2 partition of t for values from (10) to (20)
create trigger all_rows before insert or update or delete on t for each row execute function tell()
create trigger behind after insert or update or delete on t for each row execute function tell()
create trigger of_t1 after insert or update or delete on t1 for each row execute function tell()
create trigger of_t1x before insert or update or delete on t1x for each row when (true) execute function tell()
create trigger s_t before insert or update or delete on t for each statement execute function tell_statement()
create trigger s_t1 after insert or update or delete on t1 for each statement execute function tell_statement()
create trigger s_t2 after insert or update or delete on t2 for each statement execute function tell_statement()
insert into t values (1, 1, 'x'), (2, 2, 'y'), (11, 1, 'z')
select said from log order by n
truncate log
insert into t1 values (3, 3, 'named')
select said from log order by n
truncate log
insert into t2 values (13, 3, 'named')
select said from log order by n
truncate log
update t set c = c || '!' where a in (1, 11)
select said from log order by n
truncate log
update t set a = 12 where a = 1 returning tableoid::regclass, *
select said from log order by n
truncate log
update t set a = 4, b = 1 where a = 11 returning tableoid::regclass, *
select said from log order by n
truncate log
update t1 set b = 1 where a = 2
select said from log order by n
truncate log
update t set b = 7 where a = 2
update t1x set a = 5 where a = 2
update t1x set b = 3 where a = 5
select said from log order by n
truncate log
update t set a = 500 where a = 12
delete from t where a < 5
select said from log order by n
truncate log
delete from t1 where a = 5
select said from log order by n
truncate log
insert into t values (500, 1, 'nowhere')
insert into t values (5, 9, 'nowhere')
select count(*) from log
create function change() returns trigger language plpgsql as $$ begin new.a := new.a + 10; return new; end $$
create trigger a_change before insert on t1 for each row execute function change()
insert into t values (1, 1, 'moved')
insert into t values (15, 1, 'not moved')
drop trigger a_change on t1
create function harmless() returns trigger language plpgsql as $$ begin new.c := coalesce(new.c, '') || tg_table_name; return new; end $$
create trigger a_name before insert or update on t for each row execute function harmless()
insert into t values (1, 1, 'n'), (2, 2, null) returning tableoid::regclass, *
update t set a = 16 where a = 1 returning tableoid::regclass, *
create trigger all_rows before insert on t1 for each row execute function tell()
create trigger of_t1x before insert on t for each row execute function tell()
create trigger of_t1x after update on t2 for each row execute function tell()
drop trigger all_rows on t1x
drop trigger nope on t1x
drop trigger of_t1x on t1x
alter table t1 disable trigger of_t1
truncate log
insert into t values (6, 1, 'quiet')
select said from log order by n
alter table t1 enable trigger of_t1
create table own (c text, b int, a int)
insert into own values ('o', 1, 21)
create trigger of_own after insert or update of a or delete on own for each row execute function tell()
create trigger behind after insert on own for each row execute function tell()
alter table t attach partition own for values from (20) to (30)
drop trigger behind on own
alter table t attach partition own for values from (20) to (30)
truncate log
insert into t values (22, 2, 'o')
update t set a = 23 where a = 22
update own set b = 9 where a = 23
select said from log order by n
alter table t detach partition own
truncate log
update own set a = 24 where a = 21
update own set b = 10
select said from log order by n
select tgname, tgrelid::regclass from pg_trigger where tgparentid = 0 and not tgisinternal order by 1, 2::text
drop table own
drop table t1x
truncate log
insert into t values (7, 2, 'left')
select said from log order by n
drop table t
select count(*) from pg_trigger where not tgisinternal
create table k (a int primary key, b int) partition by range (a)
create table k1 partition of k for values from (0) to (10)
create table k2 partition of k for values from (10) to (20)
create trigger behind after insert or update or delete on k1 for each row execute function tell()
create trigger behind2 after insert or update or delete on k2 for each row execute function tell()
truncate log
insert into k values (1, 1), (11, 11) on conflict do nothing
insert into k values (1, 2) on conflict (a) do update set b = excluded.b
insert into k values (1, 3), (3, 3) on conflict do nothing
merge into k using (values (1, 7), (15, 7)) v (a, b) on k.a = v.a when matched then update set b = v.b when not matched then insert values (v.a, v.b)
merge into k1 using (values (1, 8), (5, 8)) v (a, b) on k1.a = v.a when matched then update set b = v.b when not matched then insert values (v.a, v.b)
merge into k1 using (values (1, 8), (15, 8)) v (a, b) on k1.a = v.a when matched then delete when not matched then insert values (v.a, v.b)
select said from log order by n
select tableoid::regclass, * from k order by a
drop table k
drop function tell, tell_statement, change, harmless
drop table log
