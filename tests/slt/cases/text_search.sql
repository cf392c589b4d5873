-- Full text search: tsvector and tsquery, configurations, functions and operators, GIN indexes over words, triggers that keep vectors.
select 'b:2A,1 a:3 b:1C ''it''''s'' c'::tsvector
select 'a:0'::tsvector
select 'a:1x'::tsvector
select 'a\'::tsvector
select 'a&b :c a:20000'::tsvector
select '''a b'':*AB & !(c | d) <-> e <3> (f <-> g)'::tsquery
select 'a &'::tsquery
select '(a'::tsquery
select 'a b'::tsquery
select 'a <16385> b'::tsquery
select 'a:1'::tsquery
select array['a:1'::tsvector, 'b'], array['a & b'::tsquery]
select 'a:1'::tsvector = 'a:1', 'a:1'::tsvector < 'a:2', 'a:1' < 'b'::tsvector, 'a & b'::tsquery < 'c'::tsquery, 'a'::tsvector <> 'b'
select x from unnest(array['b'::tsvector, 'a', 'a:2', 'a:1', 'a:1A', 'aa', '', 'a b']) x order by x
select x from unnest(array['b'::tsquery, 'a', 'a & b', 'a | b', '!a', 'a <-> b', 'a <2> b', 'aa', 'zz & y']) x order by x
select 1 from (select 'a'::tsvector v) t where v = 'a'::tsquery
select pg_typeof('a'::tsvector), pg_typeof('a'::tsquery), 'english'::regconfig, 'simple'::regdictionary, 'pg_catalog.english'::regconfig::text
select 'nothing'::regconfig
select to_tsvector('english', 'The quick brown foxes jumped over the lazy dog''s well-known http://x.org/a?b=c e-mail@x.org 12.50 -3 v1.2.3')
select to_tsvector('simple', 'The QUICK é Ж İ ǅ 中文'), to_tsvector('german', 'Die Häuser der Stadt'), to_tsvector('russian', 'the dogs и кошки'), to_tsvector('french', 'les chevaux sont arrivés')
select to_tsvector('nothing', 'x')
select tokid, token from ts_parse('default', 'foo-bar a1-b2 x@y.org www.x.org/a?b <b>c</b> &amp; 1e5 1.2 1.2.3 -4 /usr/bin a/b.c <!-- c --> it''s')
select * from ts_parse('other', 'x')
select count(*), max(alias) from ts_token_type('default')
select alias, token, dictionary, lexemes from ts_debug('english', 'The dogs 1.5 <b>')
select ts_lexize('english_stem', 'running'), ts_lexize('english_stem', 'the'), ts_lexize('simple', 'The'), ts_lexize('german_stem', 'Häuser')
select to_tsquery('english', 'cats:*A & !(the | dogs) <-> foo-bar'), plainto_tsquery('english', 'The cats & dogs'), phraseto_tsquery('english', 'cat of the dogs')
select to_tsquery('english', 'the'), plainto_tsquery('english', ''), to_tsquery('')
select to_tsquery('english', 'cat dog')
select websearch_to_tsquery('english', '"sad cats" or -dog the (foo bar) or'), websearch_to_tsquery('simple', 'a:b "c'), websearch_to_tsquery('simple', '- | & !')
select numnode('a & !b'), querytree('a & !b'), querytree('!a'), 'a'::tsquery && 'b', 'a'::tsquery || 'b', !! 'a'::tsquery, 'a'::tsquery <-> 'b', tsquery_phrase('a', 'b', 3)
select tsquery_phrase('a', 'b', -1)
select 'a & b'::tsquery @> 'a', 'a'::tsquery <@ 'b', 'a'::tsquery @> 'a | !a'
select 'a:1 b:2'::tsvector @@ 'a <-> b', 'a:1 b:3' @@ 'a <-> b'::tsquery, 'ab'::tsvector @@ 'a:*', 'a:1A' @@ 'a:B'::tsquery, 'a' @@ 'a:B'::tsquery, 'a b'::tsvector @@ 'a <-> b', 'a'::tsvector @@ ''::tsquery
select 'a:1 b:2 c:3'::tsvector @@ '!a <-> b', 'a:1 b:2 c:3'::tsvector @@ '!x <-> (b | c) <-> !d', 'a:1 b:2'::tsvector @@ '!(a <-> b) | x', 'a:1 b:2 c:4'::tsvector @@ 'a <-> (b & !d) <2> c'
select to_tsquery('cat') @@ to_tsvector('cats'), 'The cats' @@ 'cat', 'fat cats' @@ to_tsquery('cat'), to_tsvector('cats') @@ any (array['dog', 'cat']::tsquery[]), to_tsvector('cats') @@ all (array['dog', 'cat']::tsquery[])
select 'a:1 b:2'::tsvector || 'a:1A c', setweight('a:1 b:2', 'A'), setweight('a:1 b:2', 'c', array['b', null]), strip('a:1 b:2'), length('a b'::tsvector)
select setweight('a:1', 'x')
select ts_delete('a:1 b c'::tsvector, 'b'), ts_delete('a b c'::tsvector, array['a', 'c']), ts_filter('a:1A,2 b:3'::tsvector, '{a}'), tsvector_to_array('b a'), array_to_tsvector(array['b', 'a', 'b'])
select array_to_tsvector(array['a', null])
select ts_delete('a b c'::tsvector, array['c', null]), row_to_json(row('a'::tsvector, 'b'::tsquery)), to_jsonb(array['a'::tsvector])
select array_to_tsvector(array['a', ''])
select * from unnest('a:1,2B c'::tsvector)
select ts_rank('a:1,3B b:2 c:9A', 'a | b'), ts_rank('a:1,3B b:2 c:9A', 'a & c'), ts_rank('{0.1,0.2,0.3,0.4}', 'a:1,3B b:2', 'a', 2), ts_rank('a b', 'a & b', 32), ts_rank('a', '')
select ts_rank_cd('a:1,3B b:2 c:9A', 'a | b'), ts_rank_cd('a:1,3B b:2 c:9A', 'a & c', 4), ts_rank_cd('{0.1,0.2,0.3,0.4}', 'a:1,3B b:2', 'a & b', 1), ts_rank_cd('a b', 'a & b')
select ts_rank('{0.1,0.2}', 'a:1', 'a')
select ts_rank('{0.1,0.2,0.3,1.1}', 'a:1', 'a')
select ts_headline('english', 'The most common type of search is to find all documents containing given query terms and return them in order of their similarity to the query.', to_tsquery('english', 'query & similarity'))
select ts_headline('english', 'The most common type of search is to find all documents containing given query terms and return them in order of their similarity to the query.', to_tsquery('english', 'search & term'), 'MaxFragments=10, MaxWords=7, MinWords=3, StartSel=<<, StopSel=>>')
select ts_headline('english', 'foo <b>bar</b> x', to_tsquery('english', 'bar'), 'HighlightAll=true'), ts_headline('{"a": "cats", "b": [1, "dog"]}'::jsonb, 'cat'::tsquery), ts_headline('{"b": "cats",  "a": [1, "dog"]}'::json, 'cat'::tsquery)
select ts_headline('english', 'a', 'a', 'MaxWords=1')
select ts_headline('english', 'a', 'a', 'Max=1')
select ts_headline('english', 'a', 'a', 'MaxWords')
select to_tsvector('english', '{"b": "The cats", "a": [1, "dogs", true]}'::jsonb), to_tsvector('english', '{"b": "The cats", "a": [1, "dogs", true]}'::json), jsonb_to_tsvector('english', '{"b": "The cats", "a": [1, true]}', '["numeric", "key"]'), json_to_tsvector('english', '{"b": "The cats", "a": [1, true]}', '"all"')
select jsonb_to_tsvector('english', '{}', '"other"')
select to_json('a:1'::tsvector), jsonb_build_object('q', 'a & b'::tsquery), format('%s %L', 'a:1'::tsvector, 'a'::tsquery), concat('a:1'::tsvector), to_jsonb(array['a'::tsvector])
show default_text_search_config
set default_text_search_config = 'simple'
show default_text_search_config
select to_tsvector('The cats'), get_current_ts_config()
set default_text_search_config = 'other'
reset default_text_search_config
create table docs (id int primary key, title text, body text, words tsvector generated always as (setweight(to_tsvector('english', coalesce(title, '')), 'A') || to_tsvector('english', coalesce(body, ''))) stored)
create index docs_words on docs using gin (words)
create index docs_body on docs using gin (to_tsvector('english', body))
create index docs_default on docs using gin (to_tsvector(body))
create table wrong (body text, words tsvector generated always as (to_tsvector(body)) stored)
create index docs_hash on docs using hash (words)
insert into docs (id, title, body) values (1, 'Running dogs', 'The quick brown foxes jumped'), (2, 'Cats', 'sleeping dogs and cats'), (3, null, 'nothing'), (4, null, null), (5, 'cat', 'brown cats, quick foxes')
select id, words from docs order by id
select id from docs where words @@ to_tsquery('english', 'dog & !cat') order by id
select id from docs where words @@ to_tsquery('english', 'ca:* | nothing') order by id
select id from docs where words @@ to_tsquery('english', 'cat:A') order by id
select id from docs where words @@ to_tsquery('english', 'quick <2> fox') order by id
select id from docs where words @@ to_tsquery('english', '!dog') order by id
select id from docs where words @@ '' or words is null order by id
select id from docs where to_tsvector('english', body) @@ websearch_to_tsquery('english', 'brown "quick foxes"') order by id
select id, ts_rank(words, q) > 0.1 from docs, to_tsquery('english', 'cat | dog') q where words @@ q order by ts_rank(words, q) desc, id
update docs set body = 'now about birds' where id = 3
select id from docs where to_tsvector('english', body) @@ 'bird' and words @@ 'bird'
select id from docs where words @@ 'noth'
delete from docs where id = 2
select id from docs where words @@ to_tsquery('english', 'cat | dog') order by id
select indexdef from pg_indexes where tablename = 'docs' order by indexname
select column_name, data_type, udt_name from information_schema.columns where table_name = 'docs' order by ordinal_position
select max(id), words from docs group by words order by words limit 2
create table notes (id int primary key, title text, body varchar(40), words tsvector, language regconfig default 'simple')
create trigger notes_words before insert or update on notes for each row execute function tsvector_update_trigger(words, 'pg_catalog.english', title, body)
insert into notes (id, title, body) values (1, 'The Cats', null), (2, null, 'running')
select id, words from notes order by id
update notes set body = 'dogs' where id = 1
update notes set words = 'by:1 hand:2' where id = 2
select id, words from notes order by id
update notes set title = title
select id, words from notes order by id
select pg_get_triggerdef(oid), tgfoid::regproc from pg_trigger where tgname = 'notes_words'
drop trigger notes_words on notes
create trigger notes_words before insert on notes for each row execute function tsvector_update_trigger_column(words, language, title)
insert into notes (id, title, language) values (3, 'The Cats', 'english'), (4, 'The Cats', default)
select id, words, language from notes where id > 2 order by id
insert into notes (id, title, language) values (5, 'x', null)
drop trigger notes_words on notes
create trigger notes_words before insert on notes for each row execute function tsvector_update_trigger(title, 'pg_catalog.english', body)
insert into notes (id) values (6)
drop trigger notes_words on notes
create trigger notes_words before insert on notes for each row execute function tsvector_update_trigger(words, 'english', body)
insert into notes (id) values (6)
select cfgname, cfgparser from pg_ts_config where cfgname in ('english', 'simple') order by 1
select maptokentype, dictname from pg_ts_config_map m join pg_ts_dict d on d.oid = mapdict where mapcfg = 'english'::regconfig order by 1
select dictname, dictinitoption from pg_ts_dict where dictname like 'e%_stem' and dictname = 'english_stem' or dictname = 'simple'
select typname, typlen, typcategory, typarray::regtype, typinput from pg_type where typname in ('tsvector', 'tsquery', 'regconfig') order by 1
select provolatile, count(*) from pg_proc where proname in ('to_tsvector', 'to_tsquery') group by 1 order by 1
drop table docs
drop table notes
