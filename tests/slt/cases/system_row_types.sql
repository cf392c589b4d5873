select count(*) from pg_class c where relkind in ('r', 'v') and not exists (select from pg_type t where t.oid = c.reltype and t.typrelid = c.oid and t.typtype = 'c' and t.typname = c.relname and t.typnamespace = c.relnamespace);
select typname, typtype, typcategory, typrelid::regclass, format_type(oid, null), oid::regtype from pg_type where typrelid in ('pg_type'::regclass, 'pg_policies'::regclass, 'information_schema.tables'::regclass) order by 1;
select count(*) from pg_type t left join pg_class c on c.oid = t.typrelid where t.typrelid <> 0 and c.oid is null;
select e.typname, a.typname, a.typcategory, format_type(a.oid, null) from pg_type e join pg_type a on a.oid = e.typarray where e.typrelid = 'pg_class'::regclass and a.typelem = e.oid;
