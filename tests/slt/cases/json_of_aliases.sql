-- What rows of tables are called as documents when an alias gives their columns other names.
create table ja(a int, b text)
insert into ja values (1, 'x'), (2, null)
create view ja_view(m, n) as select a, b from ja
select row_to_json(t), to_jsonb(t) from ja t(x, y)
select json_agg(t order by x), jsonb_agg(t order by x) from ja t(x)
select json_build_object('r', t), jsonb_build_array(t), to_jsonb(t.*) from ja t(x, y)
select to_json(array_agg(t order by x)) from ja t(x, y)
select (t).x, t, t::text from ja t(x, y)
select row_to_json(v) from ja_view v(r, s)
select row_to_json(t) from (select a, b from ja) t(x, y)
select row_to_json(t) from (values (1, 'a')) t(x, y)
with t(x, y) as (select a, b from ja) select row_to_json(s) from t s(k)
select to_jsonb(t) from (ja cross join (select 5 z) s) t(x, y, z)
select (select row_to_json(t)) from ja t(x, y)
select json_object_agg(x, t) from ja t(x, y)
select jsonb_populate_record(t, '{"a": 7, "x": 8}') from ja t(x, y)
select pg_typeof(t), pg_typeof(v), pg_typeof(s) from ja t(x, y), ja_view v(r, s), (select 1) s(z) limit 1
drop view ja_view
drop table ja
