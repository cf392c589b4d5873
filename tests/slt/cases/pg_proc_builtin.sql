SELECT 'array_in'::regproc, 'pg_catalog.array_in'::regproc, 'now'::regproc, 750::regproc, 870::regproc, 870::regprocedure
SELECT 'lower(text)'::regprocedure, 'array_in(cstring,oid,integer)'::regprocedure
SELECT 'lower(text)'::regprocedure::oid, 'array_in'::regproc::oid, 'now()'::regprocedure::oid, 'count("any")'::regprocedure::oid, 'count("any")'::regprocedure
SELECT 'lower'::regproc
SELECT 'no_such_function_at_all'::regproc
SELECT to_regproc('lower'), to_regproc('now'), to_regproc('no_such_function'), to_regprocedure('lower(text)'), to_regprocedure('lower(point)')
SELECT exists(SELECT * FROM pg_proc WHERE proname = 'lower' AND proargtypes = ARRAY['character varying'::regtype]::oidvector) OR exists(SELECT * FROM pg_proc JOIN pg_cast ON ARRAY[casttarget]::oidvector = proargtypes WHERE proname = 'lower' AND castsource = 'character varying'::regtype)
SELECT exists(SELECT * FROM pg_proc WHERE proname = 'lower' AND proargtypes = ARRAY['integer'::regtype]::oidvector) OR exists(SELECT * FROM pg_proc JOIN pg_cast ON ARRAY[casttarget]::oidvector = proargtypes WHERE proname = 'lower' AND castsource = 'integer'::regtype)
SELECT oid, proname, pronamespace, proowner, prolang, procost, prorows, provariadic, prokind, prosecdef, proleakproof, proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, proargtypes, proallargtypes, proargmodes::text, proargnames, prosrc FROM pg_proc WHERE oid IN (750, 870, 1299, 2147, 2803, 3100, 1069, 1574, 2078, 3058, 46) ORDER BY oid
SELECT count(*) FROM pg_proc WHERE proname IN ('textin', 'int4in', 'enum_in', 'record_in', 'domain_in', 'array_in', 'array_out', 'array_recv', 'array_send')
SELECT typname, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript, typalign, typcategory FROM pg_type WHERE typname IN ('int4', '_int4', 'text', '_varchar', 'numeric', 'name', 'int2vector', 'oidvector', 'jsonb', 'uuid', 'record', '_record', 'cstring', 'bool', 'timestamptz', '_numeric', 'regclass', 'any', 'anyarray', 'trigger', 'void', 'timetz', '_timetz', 'interval', '_interval', 'unknown') ORDER BY typname
SELECT oid, typname, typlen, typbyval, typtype, typcategory, typalign, typstorage, typelem, typarray FROM pg_type WHERE oid IN (1263, 2275, 2276, 2277, 2279, 2281, 2283, 3500, 5077, 5078) ORDER BY oid
CREATE TYPE pg_proc_mood AS ENUM ('a')
CREATE DOMAIN pg_proc_domain AS numeric(5, 2)
CREATE TYPE pg_proc_pair AS (a int)
SELECT typname, typinput, typoutput, typreceive, typsend, typmodin, typmodout FROM pg_type WHERE typname LIKE 'pg\_proc\_%' OR typname LIKE '\_pg\_proc\_mood' ORDER BY typname
DROP TYPE pg_proc_pair
DROP DOMAIN pg_proc_domain
DROP TYPE pg_proc_mood
SELECT castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod FROM pg_cast WHERE castsource IN ('int4'::regtype, 'varchar'::regtype) AND casttarget IN ('int8'::regtype, 'int2'::regtype, 'text'::regtype, 'varchar'::regtype, 'bool'::regtype) ORDER BY 1, 2
SELECT lanname, lanispl, lanpltrusted FROM pg_language ORDER BY oid
SELECT pg_get_function_arguments(870), pg_get_function_result(870), pg_get_function_identity_arguments(750), pg_get_function_result(1069), pg_get_function_arguments(2147), pg_get_function_arguments(0)
SELECT pg_function_is_visible(870), has_function_privilege('lower(text)', 'EXECUTE'), format_type(2275, NULL), format_type(2276, NULL), format_type(1263, NULL), '"any"'::regtype, 2913::regprocedure, 'cstring'::regtype, 'anyarray'::regtype::oid
CREATE FUNCTION pg_proc_own(a int) RETURNS int LANGUAGE sql AS 'SELECT a'
SELECT 'pg_proc_own'::regproc, 'pg_proc_own(int)'::regprocedure, pg_get_function_arguments('pg_proc_own(int)'::regprocedure), pg_get_function_result('pg_proc_own'::regproc)
SELECT n.nspname, p.proname, pg_get_function_result(p.oid), pg_get_function_arguments(p.oid), CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace WHERE pg_function_is_visible(p.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND p.proname LIKE 'pg\_proc%' ORDER BY 1, 2, 4
DROP FUNCTION pg_proc_own
