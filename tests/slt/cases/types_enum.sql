-- Enums: made, changed, compared, converted, kept, dropped.
create type mood as enum ('sad', 'ok', 'happy')
create type mood as enum ('a')
create type twice as enum ('a', 'b', 'a')
create type empty_one as enum ()
select 'ok'::mood
select 'angry'::mood
select null::mood
select cast('sad' as mood) as m
select 'sad'::mood < 'happy'::mood
select 'sad'::mood > 'happy'::mood
select 'ok'::mood = 'ok'
select 'ok' = 'ok'::mood
select 'ok'::mood = 'none'
select 'ok'::mood = 'ok'::text
select 'ok'::mood::text = 'ok'
select 'ok'::text::mood
select 'nope'::text::mood
select 'ok'::varchar::mood
select 1::mood
select 'ok'::mood::int
select pg_typeof('ok'::mood)
select greatest('ok'::mood, 'sad'), least('ok'::mood, 'happy')
select coalesce(null::mood, 'sad')
select case when true then 'ok'::mood else 'sad' end
select 'ok'::mood in ('sad', 'ok')
select 'ok'::mood in ('sad', 'nope')
select nullif('ok'::mood, 'ok')
select 'sad'::mood between 'sad' and 'ok'
select enum_first(null::mood), enum_last(null::mood), enum_range(null::mood)
select enum_range('ok'::mood, null), enum_range(null, 'ok'::mood), enum_range('sad'::mood, 'ok'::mood)
select enum_first('x')
select 'ok'::mood || '!'
select concat('ok'::mood, '-', 'sad'::mood)
select format('%s %L', 'ok'::mood, 'sad'::mood)
select to_json('ok'::mood), to_jsonb('sad'::mood)
select json_build_object('m', 'ok'::mood), jsonb_build_array('ok'::mood, 1)
select length('ok'::mood)
select upper('ok'::mood::text)
select '{sad,ok}'::mood[]
select array['sad', 'ok']::mood[]
select array['sad'::mood, 'happy']
select ('{sad,ok}'::mood[])[2]
select '{sad,nope}'::mood[]
select '{sad,ok}'::mood[]::text
select array_agg(m) from (values ('ok'::mood), ('sad')) v(m)
select unnest('{happy,sad}'::mood[])
select 'ok'::mood = any('{sad,ok}')
select array_position('{sad,ok}'::mood[], 'ok')
select array_length(enum_range(null::mood), 1)
select array_to_string(enum_range(null::mood), '|')
create table feelings (id int primary key, m mood not null default 'ok', ms mood[])
insert into feelings values (1, 'happy', '{sad,happy}'), (2, 'sad', null), (3, default, array['ok']::mood[])
insert into feelings (id) values (4)
insert into feelings values (5, 'angry')
insert into feelings values (5, null)
insert into feelings values (5, 'ok'::text)
insert into feelings values (5, 1)
insert into feelings select 5, 'happy'
insert into feelings (id, m) select 6, case when true then 'sad' else 'ok' end::mood
select * from feelings order by m, id
select * from feelings order by m desc, id
select m, count(*) from feelings group by m order by m
select distinct m from feelings order by 1
select min(m), max(m) from feelings
select id from feelings where m = 'sad' order by id
select id from feelings where m > 'sad' order by id
select id from feelings where m in ('sad', 'happy') order by id
select id from feelings where m = any('{sad,ok}') order by id
select id from feelings where m::text like 's%' order by id
select id from feelings where m = 'nothing'
select id from feelings where 'happy' = any(ms)
update feelings set m = 'happy' where id = 4 returning *
update feelings set m = 'furious' where id = 4
update feelings set m = m::text::mood
select a.id, b.id from feelings a join feelings b on a.m = b.m and a.id < b.id order by 1, 2
select m, lag(m) over (order by m, id) from feelings order by m, id
select rank() over (order by m), m from feelings order by 1, 2
select json_agg(f) from (select id, m from feelings where id < 3 order by id) f
select row_to_json(f) from (select id, m, ms from feelings where id = 1) f
select m from feelings union select 'ok' order by 1
select m from feelings union select 'ok'::text
select m from feelings where id = 1 union all select 'sad'::mood order by 1
create index feelings_m on feelings (m)
create table by_mood (m mood primary key, note text)
insert into by_mood values ('happy', 'h'), ('sad', 's'), ('ok', 'o')
insert into by_mood values ('sad', 'again')
insert into by_mood values ('sad', 'again') on conflict (m) do update set note = excluded.note
select * from by_mood order by m
select f.id, b.note from feelings f join by_mood b using (m) order by f.id
create table refers (id int, m mood references by_mood)
insert into refers values (1, 'ok')
delete from by_mood where m = 'ok'
alter type mood add value 'angry' before 'sad'
alter type mood add value 'calm' after 'ok'
alter type mood add value 'ecstatic'
alter type mood add value 'ok'
alter type mood add value if not exists 'ok'
alter type mood add value 'x' before 'nothing'
select enum_range(null::mood)
select enumlabel, enumsortorder from pg_enum where enumtypid = 'mood'::regtype order by enumsortorder
insert into feelings values (7, 'angry'), (8, 'calm'), (9, 'ecstatic')
select id, m from feelings order by m, id
select id from feelings where m between 'ok' and 'happy' order by m, id
alter type mood rename value 'calm' to 'quiet'
alter type mood rename value 'calm' to 'quiet'
alter type mood rename value 'quiet' to 'ok'
select id, m from feelings where m = 'quiet'
select 'calm'::mood
create function next_mood(m mood) returns mood language plpgsql as $$ declare r mood; begin select min(x) into r from unnest(enum_range(null::mood)) x where x > m; return r; end $$
select next_mood('sad'), next_mood('ecstatic'), next_mood('ok'::mood)
select next_mood('nope')
create function is_good(mood) returns bool language sql as $$ select $1 >= 'happy' $$
select m, is_good(m) from by_mood order by m
create function say(m mood) returns text language plpgsql as $$ begin if m = 'sad' then return 'oh'; end if; return 'it is ' || m; end $$
select say('sad'), say('quiet')
select * from next_mood('sad') as n
do $$ declare m mood := 'happy'; begin m := 'nope'; end $$
do $$ declare m mood := 'happy'; t text; begin t := m; m := 'sad'; raise notice '% %', t, m; end $$
select typname, typtype, typcategory, typlen, typbyval, typdelim, typnotnull from pg_type where typname in ('mood', '_mood') order by 1
select t.typname, a.typname, a.typelem = t.oid from pg_type t join pg_type a on a.oid = t.typarray where t.typname = 'mood'
select format_type(t.oid, null), format_type(t.typarray, null) from pg_type t where typname = 'mood'
select 'mood'::regtype, 'mood[]'::regtype, to_regtype('mood') is null, to_regtype('nothing') is null
select column_name, data_type, udt_schema, udt_name, column_default from information_schema.columns where table_name = 'feelings' order by ordinal_position
select attname, atttypid::regtype, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'feelings'::regclass and attnum > 0 order by attnum
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'feelings'::regclass
alter table feelings add column other mood default 'sad'
select id, other from feelings order by id limit 2
alter table feelings alter column other type text
select id, other || '?' from feelings order by id limit 1
alter table feelings alter column other drop default
alter table feelings alter column other type mood using other::mood
alter table feelings alter column other type int
select pg_typeof(other) from feelings limit 1
alter table feelings drop column other
create view happy_ones as select id, m from feelings where m >= 'happy'
select * from happy_ones order by id
drop type mood
drop view happy_ones
create table words (w text)
insert into words values ('sad'), ('ok')
alter table words alter column w type mood
alter table words alter column w type mood using w::mood
select * from words order by w
create type mood2 as enum ('sad', 'ok')
select 'sad'::mood = 'sad'::mood2
select 'sad'::mood::mood2
select 'sad'::mood::text::mood2
insert into words values ('sad'::mood2)
alter type mood2 rename to temper
select 'ok'::temper, 'ok'::mood2
alter type nothing add value 'x'
alter type nothing rename to x
drop type temper
drop type if exists temper
drop type temper
create table mood (a int)
create type feelings as enum ('x')
create table temper (a int)
create type temper as enum ('x')
drop type temper
drop table words, refers, by_mood, feelings, temper
drop function next_mood(mood)
drop function is_good
drop function say(mood)
drop type mood
create schema s
create type s.color as enum ('red', 'green')
select 'red'::s.color
select 'red'::color
create table s.t (c s.color)
insert into s.t values ('green'), ('red')
select * from s.t order by c
select column_name, udt_schema, udt_name from information_schema.columns where table_schema = 's'
select 'blue'::s.color
select format_type('s.color'::regtype, null)
set search_path = s
select 'red'::color
reset search_path
drop table s.t
drop type s.color
drop schema s
create type long_label as enum ('1234567890123456789012345678901234567890123456789012345678901234')
drop type empty_one
