-- Columns are renamed that checks, generated columns and indexes name.
create table t (id int primary key, a int check (a > 0), "B c" int, g int generated always as (a + "B c") stored, constraint ab check (a < "B c" and t.a <> 7 and 'a' <> 'b'))
create index on t ((a * 2)) where a > 3
create unique index on t (lower(a::text))
insert into t values (1, 2, 3, default)
alter table t rename column a to "x y"
insert into t values (2, 0, 3, default)
insert into t values (3, 9, 3, default)
insert into t values (4, 4, 9, default) returning *
alter table t rename "B c" to b
insert into t values (5, 5, 9, default) returning *
insert into t values (6, 5, 4, default) returning *
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass order by 1
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 't'::regclass
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass order by 1
alter table t rename "x y" to b
alter table t rename nope to z
select indexdef from pg_indexes where tablename='t' order by 1
update t set "x y" = 100 where id = 1
