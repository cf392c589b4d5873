-- pg_trgm: its numbers, its operators, its settings, and what its indexes find.
create extension pg_trgm
create extension pg_trgm
select extname, extversion, extnamespace::regnamespace from pg_extension where extname = 'pg_trgm'
select name, default_version, comment from pg_available_extensions where name = 'pg_trgm'
select show_trgm('word'), show_trgm(' Two  WORDS, and_more'), show_trgm(''), show_trgm('-,_'), show_trgm(null)
select show_trgm('é'), show_trgm('Éa b'), show_trgm('日本語'), show_trgm('Привет'), show_trgm('İı')
select similarity('word', 'two words'), similarity('a', 'a'), similarity('', ''), similarity('', 'a'), similarity('naïve', 'naive'), pg_typeof(similarity('a', 'b'))
select word_similarity('word', 'two words'), word_similarity('two words', 'word'), word_similarity('', 'a'), word_similarity('a', ''), word_similarity('abc abc', 'abc')
select strict_word_similarity('word', 'two words'), strict_word_similarity('two words', 'word'), strict_word_similarity('', ''), strict_word_similarity('wor', 'a word here')
select 'word' % 'two words', 'word' <% 'two words', 'two words' %> 'word', 'word' <<% 'two words', 'two words' %>> 'word'
select 'word' <-> 'two words', 'word' <<-> 'two words', 'two words' <->> 'word', 'word' <<<-> 'two words', 'two words' <->>> 'word'
select 'word' operator(public.%) 'two words', public.similarity('a', 'ab')
select null % 'a', 'a'::varchar % 'a'::char(3), 'a'::name <-> 'a'
select 5 % 3, 5.5 % 2, 7::bigint % 4
select show_limit()
show pg_trgm.similarity_threshold
show pg_trgm.word_similarity_threshold
show pg_trgm.strict_word_similarity_threshold
select set_limit(0.5)
select show_limit(), 'word' % 'two words'
select set_limit(0)
select 'a' % 'b', '' % ''
select set_limit(2)
set pg_trgm.similarity_threshold = 1.5
set pg_trgm.word_similarity_threshold = -0.1
set pg_trgm.strict_word_similarity_threshold = 'much'
set pg_trgm.word_similarity_threshold = '0.90'
show pg_trgm.word_similarity_threshold
select 'word' <% 'two words'
reset pg_trgm.word_similarity_threshold
reset pg_trgm.similarity_threshold
select name, setting, category, context, vartype from pg_settings where name like 'pg_trgm.%' order by name
create table trg_t (id int primary key, name text, code varchar(30), n int)
insert into trg_t select g, case when g % 17 = 0 then null else 'Item ' || g || case g % 5 when 0 then ' red apple' when 1 then ' Green-Apple' when 2 then ' blaue Straße' when 3 then ' pomme d''été' else '' end end, 'C' || g * 37, g from generate_series(1, 300) g
create index trg_name on trg_t using gin (name gin_trgm_ops)
create index trg_two on trg_t using gin (lower(name) gin_trgm_ops, code public.gin_trgm_ops)
create index trg_some on trg_t using gin (code gin_trgm_ops) where n > 200
create index trg_gist on trg_t using gist (code gist_trgm_ops)
select indexname, indexdef from pg_indexes where tablename = 'trg_t' order by indexname
select c.opcname, a.amname, c.opcdefault, c.opcintype::regtype from pg_opclass c join pg_am a on a.oid = c.opcmethod where c.opcname like '%trgm%' order by 1
select pg_get_indexdef('trg_two'::regclass, 1, false), pg_get_indexdef('trg_two'::regclass, 2, false)
select count(*), min(id), max(id) from trg_t where name like '%apple%'
select count(*), min(id), max(id) from trg_t where name ilike '%APPLE'
select id from trg_t where name like 'Item 12_ %' order by id
select id from trg_t where name like '%\%%' order by id
select count(*) from trg_t where name like '%'
select count(*) from trg_t where name like '%le%'
select count(*) from trg_t where name not like '%apple%'
select id from trg_t where name like '%12%ra%' order by id
select id from trg_t where name like 'Item 7' or name like '%Item 9' order by id
select id from trg_t where name like '%été%' and code like '%99%' order by id
select id from trg_t where lower(name) like '%green%' and code like 'C1_1%' order by id
select id from trg_t where name ~ 'Item 1[0-3]+ (red|blaue)' order by id
select id from trg_t where name ~* '^ITEM .*APPLE$' and id < 20 order by id
select id from trg_t where name ~ '^Item 2\d$' order by id
select count(*) from trg_t where name ~ '.'
select count(*) from trg_t where name ~ '(a|.)p*'
select id from trg_t where name ~ 'ap{2}le' and id < 20 order by id
select id from trg_t where name ~ '\mred\M' and id < 30 order by id
select id from trg_t where name ~ '(\d)\1\1' order by id
select id from trg_t where name % 'Item 255 red' order by similarity(name, 'Item 255 red') desc, id limit 5
select id from trg_t where 'pomme dete' <% name and id < 20 order by id
select count(*) from trg_t where 'apple' <<% name
select count(*) from trg_t where name %>> 'apple'
select count(*) from trg_t where name % ''
select id from trg_t where name = 'Item 44' order by id
select id from trg_t where code = 'C3700' and n > 50
select id from trg_t where code like '%777%' and n > 200 order by id
select id, name <-> 'Item 31 green apple' from trg_t where name is not null order by 2, 1 limit 3
select count(*) from trg_t where name like null
update trg_t set name = replace(name, 'red', 'yellow') where id % 10 = 0
delete from trg_t where id % 10 = 5
select count(*) from trg_t where name like '%yellow%'
select count(*) from trg_t where name like '%red apple%'
insert into trg_t values (1000, 'quince', 'Q') on conflict (id) do update set name = excluded.name
insert into trg_t values (1000, 'medlar', 'Q') on conflict (id) do update set name = excluded.name
select id from trg_t where name like '%quince%' or name like '%medlar%'
select id from trg_t where name like '%medlar%'
prepare trg_p(text) as select count(*) from trg_t where name like $1
execute trg_p('%yellow%')
execute trg_p('%e%')
execute trg_p(null)
deallocate trg_p
select a.id, b.id from trg_t a join trg_t b on b.name like '%' || a.code || '%' where a.id = 1000
alter table trg_t alter code type text
alter table trg_t rename name to label
select indexdef from pg_indexes where indexname = 'trg_name'
select count(*) from trg_t where label like '%yellow%'
alter table trg_t alter label type int using id
create index on trg_t using gin (n gin_trgm_ops)
create index on trg_t using gin (label)
create index on trg_t using btree (label gin_trgm_ops)
create unique index on trg_t using gin (label gin_trgm_ops)
drop extension pg_trgm
drop index trg_name, trg_two, trg_some, trg_gist
create table trg_d (label text, k int) partition by list (k)
create table trg_d1 partition of trg_d for values in (1)
create table trg_d2 partition of trg_d for values in (2)
create index on trg_d using gin (label gin_trgm_ops)
insert into trg_d select 'row number ' || g, 1 + g % 2 from generate_series(1, 50) g
select count(*) from trg_d where label like '%ber 4%'
select count(*) from trg_d1 where label like '%ber 4%'
drop table trg_d
create index trg_again on trg_t using gin (label gin_trgm_ops)
drop extension pg_trgm cascade
select indexname from pg_indexes where tablename = 'trg_t'
create index on trg_t using gin (label gin_trgm_ops)
drop table trg_t
