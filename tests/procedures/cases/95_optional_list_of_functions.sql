-- Optional: what clients ask the catalogue about procedures.
create procedure p(a int, inout b text default 'x') language plpgsql as $$ begin end $$;
create function f(a int, b numeric) returns setof int language sql stable as $$ select 1 $$;
select proname, prokind, pronargs, proretset, provolatile from pg_proc where proname in ('p', 'f') order by proname;
select p.proname, n.nspname, l.lanname from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
  where p.proname in ('p', 'f') order by p.proname;
select pg_get_function_arguments(oid) from pg_proc where proname = 'p';
select pg_get_function_result(oid) from pg_proc where proname = 'f';
select routine_name, routine_type from information_schema.routines where routine_name in ('p', 'f') order by routine_name;
