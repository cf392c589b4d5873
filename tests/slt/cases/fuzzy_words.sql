-- fuzzystrmatch and unaccent.
create extension fuzzystrmatch
create extension unaccent
select extname, extversion from pg_extension where extname in ('fuzzystrmatch', 'unaccent') order by 1
select name, default_version, comment from pg_available_extensions where name in ('fuzzystrmatch', 'unaccent') order by 1
select levenshtein('GUMBO', 'GAMBOL'), levenshtein('GUMBO', 'GAMBOL', 2, 1, 1), levenshtein('', 'abc'), levenshtein('abc', ''), levenshtein('naïve', 'naive'), levenshtein('日本', '日本語'), levenshtein(null, 'a')
select levenshtein_less_equal('extensive', 'exhaustive', 2), levenshtein_less_equal('extensive', 'exhaustive', 4), levenshtein_less_equal('extensive', 'exhaustive', -1), levenshtein_less_equal('', 'abcd', 2)
select levenshtein_less_equal('extensive', 'exhaustive', 2, 3, 4, 5), levenshtein_less_equal('extensive', 'exhaustive', 2, 3, 4, 50), levenshtein('abc', 'xyz', -1, -2, 0)
select levenshtein(repeat('é', 255), 'b')
select levenshtein(repeat('a', 256), 'b')
select soundex('hello world!'), soundex('Anne'), soundex('Ann'), soundex('Andrew'), soundex('Margaret'), soundex(''), soundex('12 3'), soundex('éa'), text_soundex('Tymczak'), soundex('Ashcraft')
select difference('Anne', 'Ann'), difference('Anne', 'Andrew'), difference('Anne', 'Margaret'), difference('', ''), difference('a', '')
select metaphone('GUMBO', 4), metaphone('Thompson', 10), metaphone('Knight', 5), metaphone('Schwarz', 6), metaphone('Xavier', 4), metaphone('', 4), metaphone('box', 2), metaphone('What', 4), metaphone('12', 3)
select metaphone('a', 0)
select metaphone('a', 256)
select metaphone(repeat('a', 256), 5)
select dmetaphone('gumbo'), dmetaphone('Schmidt'), dmetaphone_alt('Schmidt'), dmetaphone('Jankelowicz'), dmetaphone_alt('Jankelowicz'), dmetaphone(''), dmetaphone('Çelik'), dmetaphone('Michael'), dmetaphone_alt('Michael'), dmetaphone('Wright')
select unaccent('Hôtel'), unaccent('ÀÉÎÕÜ çñß Æœ ØđŁ'), unaccent('½ № … — «x»'), unaccent(''), unaccent(null), unaccent('日本 йод ё Ώ'), unaccent(U&'e\0301')
select unaccent('unaccent', 'Hôtel'), unaccent('public.unaccent', 'Hôtel'), unaccent('simple', 'HÔTEL'), unaccent('english_stem', 'running')
select public.unaccent('Hôtel'), public.unaccent('public.unaccent', 'é')
select unaccent('nope', 'a')
select 'unaccent'::regdictionary, ts_lexize('unaccent', 'Hôtel'), ts_lexize('unaccent', 'Hotel')
select dictname, dictinitoption from pg_ts_dict where dictname = 'unaccent'
create function f_unaccent(text) returns text language sql immutable parallel safe strict as $$ select public.unaccent('public.unaccent', $1) $$
create table una_t (id int primary key, name text)
insert into una_t values (1, 'Hôtel Été'), (2, 'hotel'), (3, 'Straße'), (4, null), (5, 'Œuvre'), (6, 'hôtelier')
select id, f_unaccent(name) from una_t order by id
create index una_i on una_t (f_unaccent(name))
create index una_l on una_t (lower(f_unaccent(name)))
select id from una_t where f_unaccent(name) = 'Hotel Ete'
select id from una_t where lower(f_unaccent(name)) like 'hotel%' order by id
create extension pg_trgm
create index una_g on una_t using gin (f_unaccent(name) gin_trgm_ops)
select id from una_t where f_unaccent(name) ilike '%' || f_unaccent('hôTEL') || '%' order by id
select indexname, indexdef from pg_indexes where tablename = 'una_t' order by 1
insert into una_t values (7, 'Grand hÔtel')
update una_t set name = 'motel' where id = 2
select id from una_t where f_unaccent(name) ilike '%hotel%' order by id
create index on una_t (unaccent(name))
drop table una_t
drop function f_unaccent(text)
drop extension fuzzystrmatch
drop extension unaccent, pg_trgm
create function levenshtein(a int, b int) returns int language sql as 'select a - b'
create function similarity(a text, b text) returns text language sql as 'select a || b'
select levenshtein(5, 3), similarity('a', 'b'), public.similarity('a', 'b')
create extension fuzzystrmatch
select levenshtein(5, 3), levenshtein('abc'::text, 'abd'::text)
drop extension fuzzystrmatch
drop function levenshtein(int, int), similarity(text, text)
