SELECT '_int4'::regtype, '_text'::regtype::oid, 'pg_catalog._varchar'::regtype, to_regtype('_bool'), to_regtype('_integer'), to_regtype('_nosuch')
SELECT NULL::_text, '{1,2}'::_int4, pg_typeof('{1}'::_int8), pg_typeof(NULL::pg_catalog._numeric)
SELECT '_integer'::regtype
SELECT NULL::_nosuch
CREATE TYPE array_name_e AS ENUM ('a', 'b')
CREATE TABLE array_name_t (a _int4, b _array_name_e, c int)
INSERT INTO array_name_t VALUES ('{1}', '{a,b}', 1)
SELECT a, b, b[1], '_array_name_e'::regtype, '"public"."_array_name_e"'::regtype, to_regtype('_array_name_e'), to_regtype('public._array_name_e'), '_array_name_t'::regtype FROM array_name_t
SELECT attname, atttypid::regtype, attndims > -1 FROM pg_attribute WHERE attrelid = 'array_name_t'::regclass AND attnum > 0 ORDER BY attnum
SELECT '_array_name_e'::regtype::oid = (SELECT typarray FROM pg_type WHERE typname = 'array_name_e')
SELECT '{a}'::_array_name_e, '{a,c}'::_array_name_e
DROP TABLE array_name_t
DROP TYPE array_name_e
SELECT typname, typelem::regtype FROM pg_type WHERE typname IN ('int2vector', 'oidvector', '_int2', '_oid') ORDER BY 1
