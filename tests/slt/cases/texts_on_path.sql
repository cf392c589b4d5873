-- What texts of tables name by the path of who makes them is found by everybody, whatever their path is.

create schema texts_aside;
set search_path = public, texts_aside;
create function texts_aside.texts_month(a date) returns int language plpgsql immutable as $$ begin return extract(month from a)::int; end $$;
create function texts_aside.texts_twice(a int) returns int language sql immutable as 'select a * 2';
create type texts_aside.texts_kind as enum ('one', 'two');

create table texts_rows (d date, a int, k texts_kind default 'two'::texts_kind, m int generated always as (texts_month(d)) stored, n int default texts_twice(4), check (texts_twice(a) < 100), constraint texts_kinds check (k >= 'one'::texts_kind));
alter table texts_rows add column t int generated always as (texts_twice(a)) stored;
alter table texts_rows add check (texts_twice(a) > 0);
create index texts_by on texts_rows ((texts_twice(a)));
create unique index texts_some on texts_rows (a) where texts_twice(a) > 10;
create index texts_kinds_by on texts_rows ((k = 'one'::texts_kind));
create temporary table texts_own (a int check (texts_twice(a) < 100), b int generated always as (texts_twice(a)) stored);

set search_path = public;
insert into texts_rows (d, a) values ('2024-03-01', 7), ('2024-05-01', 3), (null, 3);
insert into texts_rows (a) values (7);
insert into texts_rows (a) values (50);
insert into texts_rows (a) values (0);
select d, a, k::text, m, n, t from texts_rows order by d, a;
select a from texts_rows where texts_aside.texts_twice(a) = 6;
insert into texts_own values (8);
insert into texts_own values (50);
select * from texts_own;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'texts_rows'::regclass order by conname;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum where adrelid = 'texts_rows'::regclass order by attnum;
select pg_get_indexdef('texts_by'::regclass), pg_get_indexdef('texts_some'::regclass);

drop table texts_rows, texts_own;
drop schema texts_aside cascade;
reset search_path;
