-- Domains and composite types.
create domain positive as int check (value > 0)
create domain positive as int
create domain word as text not null check (length(value) between 1 and 5)
create domain code as varchar(3) default 'abc'
create domain named as int constraint big check (value > 10) constraint small check (value < 100)
select 5::positive
select (-5)::positive
select null::positive
select '7'::positive
select '-7'::positive
select 'x'::positive
select 5.6::positive
select cast(3 as positive) + 1
select pg_typeof(1::positive + 1)
select null::word
select 'abc'::word
select 'abcdef'::word
select ''::word
select 'abcd'::code
select 5::named
select 500::named
select 50::named
create table goods (id int primary key, n positive, w word, c code, note text)
insert into goods values (1, 5, 'one', 'x', null)
insert into goods (id, n, w) values (2, 6, 'two')
insert into goods (id, n, w) values (3, 0, 'three')
insert into goods (id, n, w) values (3, 1, null)
insert into goods (id, n) values (3, 1)
insert into goods (id, n, w) values (3, 1, 'abcdef')
insert into goods (id, w) values (3, 'three')
insert into goods (id, w, c) values (4, 'four', 'toolong')
insert into goods select 5, 1, 'five', 'abc'
insert into goods select 6, -id, 'six' from goods where id = 1
select * from goods order by id
update goods set n = n + 1 where id = 1
update goods set n = n - 100 where id = 1
update goods set w = null where id = 1
update goods set c = default where id = 1
update goods set note = 'x' where id = 2
insert into goods (id, n, w) values (1, 1, 'x') on conflict (id) do update set n = -1
insert into goods (id, n, w) values (1, 1, 'x') on conflict (id) do update set n = 77
select n, n * 2, n::text, pg_typeof(n * 2) from goods order by id
select id from goods where n = 77
select id from goods where n > 5 order by n
select max(n), min(n), sum(n) from goods
select typname, typtype, typnotnull, typbasetype::regtype, typtypmod, typcategory, typdefault from pg_type where typname in ('positive', 'word', 'code', 'named') order by 1
select conname, contype, contypid::regtype, pg_get_constraintdef(oid) from pg_constraint where contypid <> 0 and connamespace = 'public'::regnamespace order by conname
select attname, atttypid::regtype, format_type(atttypid, atttypmod), atthasdef from pg_attribute where attrelid = 'goods'::regclass and attnum > 0 order by attnum
select column_name, data_type, domain_schema, domain_name, udt_name, column_default, is_nullable, character_maximum_length from information_schema.columns where table_name = 'goods' order by ordinal_position
select domain_name, data_type, domain_default, character_maximum_length, numeric_precision, udt_name from information_schema.domains where domain_schema = 'public' order by 1
select constraint_name, domain_name from information_schema.domain_constraints where domain_schema = 'public' order by 1
select constraint_name, check_clause from information_schema.check_constraints where constraint_name in ('big', 'small', 'positive_check') order by 1
alter table goods add column m positive
alter table goods add column k word
alter table goods add column k word default 'k'
alter table goods add column bad positive default 0
alter table goods add column dc code
select id, k, dc from goods order by id
alter table goods alter column note type word
alter table goods alter column n drop not null
alter table goods alter column n set default -3
insert into goods (id, w) values (10, 'ten')
insert into goods (id, n, w) values (10, default, 'ten')
alter table goods alter column n drop default
create table plain (a int, b text)
insert into plain values (1, 'x'), (-1, 'y')
alter table plain alter column a type positive
delete from plain where a < 0
alter table plain alter column a type positive
insert into plain values (-2, 'z')
alter table plain alter column a type int
insert into plain values (-2, 'z')
drop domain positive
create function double(p positive) returns positive language plpgsql as $$ begin return p * 2; end $$
select double(4)
select double(-4)
select double(null)
create function broken(p int) returns positive language plpgsql as $$ begin return p; end $$
select broken(1), broken(2) + 1
select broken(-1)
do $$ declare p positive; begin p := 5; p := p - 10; end $$
do $$ declare p positive := -1; begin null; end $$
do $$ declare w word; begin null; end $$
do $$ declare w word := 'a'; begin w := null; end $$
do $$ declare p positive; begin begin p := 3; p := -3; exception when check_violation then raise notice 'kept %', p; end; end $$
do $$ declare p positive; begin select -5 into p; end $$
do $$ declare p goods.n%type; begin p := 0; end $$
drop function double(positive)
drop function broken(int)
create domain vowel as text check (value in ('a', 'e')) check (value <> 'i')
select 'a'::vowel, 'b'::vowel
create domain defaulted as int default 7 not null
create table with_default (a int, d defaulted)
insert into with_default (a) values (1)
insert into with_default values (2, null)
alter domain defaulted set default 8
insert into with_default (a) values (3)
alter domain defaulted drop default
insert into with_default (a) values (4)
alter domain defaulted drop not null
insert into with_default (a) values (5)
select * from with_default order by a
alter domain positive drop constraint positive_check
alter domain positive drop constraint positive_check
alter domain positive drop constraint if exists positive_check
select (-1)::positive
create table looked_at (p positive)
insert into looked_at values (1), (-1), (null)
alter domain positive add constraint above check (value > 0)
alter domain positive set not null
delete from looked_at where p < 0
alter domain positive add constraint above check (value > 0)
alter domain positive add constraint above check (value > 0)
alter domain positive set not null
delete from looked_at where p is null
alter domain positive set not null
insert into looked_at values (null)
insert into looked_at values (-1)
insert into looked_at values (2)
alter domain positive add check (value <> 3)
insert into looked_at values (3)
alter domain positive drop not null
alter domain positive drop constraint above
drop table looked_at
alter domain positive rename to anything
select 1::anything
alter domain nothing set default 1
create domain strange as int primary key
create domain strange as int unique
create domain strange as int null not null
create domain strange as nothing
create domain strange as int check (value > 'x')
create domain strange as int check (other > 1)
create domain strange as int default 'x'
create type mood as enum ('sad', 'ok', 'happy')
create domain good_mood as mood check (value >= 'ok')
select 'happy'::good_mood
select 'sad'::good_mood
select 'none'::good_mood
create domain tags as text[] check (array_length(value, 1) < 3)
select '{a,b}'::tags
select array['a', 'b', 'c']::tags
create table moods (m good_mood, t tags)
insert into moods values ('ok', '{x}')
insert into moods values ('sad', '{x}')
insert into moods values ('ok', '{x,y,z}')
select * from moods
drop domain good_mood
drop domain if exists nothing
drop domain nothing
drop domain mood
drop table moods
drop domain good_mood
drop type mood, tags
drop table goods, plain, with_default
drop domain anything, word, code, named, vowel, defaulted
create type pair as (a int, b text)
create type pair as (a int)
create type twice as (a int, a int)
create type nothing as (a unknown_type)
create function make_pair(x int) returns pair language plpgsql as $$ declare p pair; begin p.a := x; p.b := 'n' || x; return p; end $$
select * from make_pair(3)
create function pairs(n int) returns setof pair language plpgsql as $$ declare p pair; begin for i in 1 .. n loop p.a := i; p.b := 'x'; return next p; end loop; end $$
select * from pairs(2)
select a, b from pairs(3) where a > 1
create function pairs_sql() returns setof pair language sql as $$ select 1, 'one'::text union all select 2, 'two' order by 1 $$
select * from pairs_sql()
create function first_of(p pair) returns int language plpgsql as $$ begin return p.a; end $$
select first_of(row(7, 'x'))
select typname, typtype, typcategory, typrelid <> 0 from pg_type where typname = 'pair'
select relname, relkind, relnatts from pg_class where relname = 'pair'
select attname, atttypid::regtype, attnum from pg_attribute where attrelid = (select typrelid from pg_type where typname = 'pair') order by attnum
select 'pair'::regtype
drop type pair
drop function first_of(pair)
drop function make_pair(int)
drop function pairs(int)
drop function pairs_sql()
drop type pair
