create table bg (id int primary key, ns text, n int, at timestamptz, tags text[], body jsonb, v tsvector)
create index bg_early on bg using gin (ns, tags)
create extension btree_gin
select extname, extversion from pg_extension where extname = 'btree_gin'
create index bg_tags on bg using gin (ns, tags)
create index bg_body on bg using gin (n, body jsonb_path_ops)
create index bg_v on bg using gin (ns, v)
create index bg_alone on bg using gin (at)
insert into bg select i, case when i % 7 = 0 then null else 'n' || i % 5 end, i % 11, timestamptz '2024-01-01 00:00+00' + make_interval(hours => i % 50), array['t' || i % 3, 't' || i % 4], jsonb_build_object('k', i % 6), to_tsvector('simple', 'w' || i % 9 || ' x') from generate_series(1, 500) i
select count(*) from bg where ns = 'n1' and tags @> '{t2}'
select count(*) from bg where tags && '{t0,t9}' and ns = 'n3'
select count(*) from bg where n = 4 and body @> '{"k": 2}'
select count(*) from bg where ns = 'n2' and v @@ 'w3 & x'
select count(*) from bg where at = '2024-01-01 07:00+00'
select count(*) from bg where ns is null and tags @> '{t1}'
select count(*) from bg where ns = null
select count(*) from bg where ns > 'n3' and tags @> '{t1}'
update bg set ns = 'other', n = -1 where id <= 100
delete from bg where id between 200 and 250
select count(*), min(id), max(id) from bg where ns = 'other' and tags @> '{t2}'
select count(*) from bg where n = -1
select count(*) from bg where n = -1 and body @> '{"k": 1}'
select indexdef from pg_indexes where tablename = 'bg' order by 1
alter table bg drop column n
select count(*) from bg where ns = 'other' and v @@ 'w3'
create table bh (id int primary key, c char(8), t text, l text[])
create index bh_c on bh using gin (c, l)
create index bh_t on bh using gin (t, l)
insert into bh values (1, 'a', 'a', '{x}'), (2, 'a  ', 'a  ', '{x}'), (3, 'b', 'b', '{x,y}'), (4, '', '', '{y}'), (5, '   ', '  ', '{y}')
select id from bh where c = 'a' and l @> '{x}' order by id
select id from bh where c = 'a    ' and l @> '{x}' order by id
select id from bh where t = 'a' and l @> '{x}' order by id
select id from bh where t = 'a  ' and l @> '{x}' order by id
select id from bh where c = '' and l @> '{y}' order by id
select id from bh where t = '' and l @> '{y}' order by id
drop extension btree_gin
drop table bg, bh
drop extension btree_gin
create extension btree_gin
create table bi (a int, b text, l int[])
create index bi_a on bi using gin (a, l)
drop extension btree_gin
drop extension btree_gin cascade
insert into bi values (1, 'x', '{1}')
select count(*) from bi where a = 1 and l @> '{1}'
select indexname from pg_indexes where tablename = 'bi'
drop table bi
