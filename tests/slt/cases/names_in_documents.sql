-- Numbers that print as names, within documents, rows and texts.
select row_to_json(r) from (select 'pg_class'::regclass as name) r
select to_json('pg_class'::regclass), jsonb_build_object('a', 'pg_class'::regclass), json_build_array('pg_class'::regclass)
select row_to_json(r) from (select oid::regclass as name from pg_class where relname='pg_class') r
select jsonb_build_object('f', (select row_to_json(r) from (select oid::regclass as name from pg_class where relname='pg_class') r))
select (select row_to_json(r) from (select oid::regclass as name from pg_class where relname='pg_class') r)
select json_build_object('f', (select oid::regclass from pg_class where relname='pg_class'))
select array_agg(oid::regclass)::text, string_agg(oid::regclass::text,','), json_agg(oid::regclass) from pg_class where relname='pg_class'
select ('{'||1259||'}')::oid[]::regclass[]::text
select concat(1, 'pg_class'::regclass), format('%s', 'pg_class'::regclass), row('pg_class'::regclass, 'int'::regtype)::text, pg_typeof('pg_class'::regclass)
select to_json(array['pg_class'::regclass, null]), jsonb_build_array(null::regtype), num_nulls('pg_class'::regclass, null)
