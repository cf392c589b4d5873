-- What generators of code ask the catalogue by functions and views of information_schema.
CREATE SCHEMA gen;
SET search_path = gen;
CREATE DOMAIN short AS varchar(7);
CREATE DOMAIN money2 AS numeric(9,2);
CREATE TYPE place AS (street text, zip varchar(10), at numeric(8,3), seen timestamp(2), floors int[]);
CREATE TYPE mood AS ENUM ('a', 'ok', 'it''s');
CREATE TABLE t (a short, b money2, c varchar(5), d bit(3), e timestamp(3), f interval day to second(2), g date, h numeric, i text, j int, k float4, l time, m interval, n mood DEFAULT 'ok');
SELECT a.attname,
    information_schema._pg_char_max_length(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS length,
    information_schema._pg_char_octet_length(information_schema._pg_truetypid(a, t), information_schema._pg_truetypmod(a, t)) AS octets,
    information_schema._pg_numeric_precision(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS digits,
    information_schema._pg_numeric_precision_radix(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS radix,
    information_schema._pg_numeric_scale(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS scale,
    information_schema._pg_datetime_precision(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS seconds,
    information_schema._pg_interval_type(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) AS fields
  FROM pg_attribute a JOIN pg_type t ON a.atttypid = t.oid WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum;
SELECT information_schema._pg_numeric_precision(23, NULL), information_schema._pg_numeric_precision(NULL, 5), information_schema._pg_char_max_length(1043, NULL), information_schema._pg_datetime_precision(1186, -1), information_schema._pg_numeric_scale(1700, -1);
SELECT information_schema._pg_char_max_length(1043, 14);
SELECT _pg_char_max_length(1043, 14);
SELECT information_schema._pg_char_max_length('x'::text, 1);
SELECT information_schema._pg_nothing(1, 2);
SELECT nameconcatoid('abc', 12), nameconcatoid(repeat('x', 63)::name, 1234567), nameconcatoid(NULL, 1);
SELECT attribute_name, data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision FROM information_schema.attributes WHERE udt_schema = 'gen' ORDER BY ordinal_position;
CREATE FUNCTION f(a int, b place, c short DEFAULT 'x', d int DEFAULT 1 + 2, VARIADIC e mood[] DEFAULT '{}') RETURNS int LANGUAGE sql STRICT AS 'SELECT 1';
CREATE FUNCTION g(OUT a t, OUT b numeric) LANGUAGE sql AS 'SELECT NULL::gen.t, 1.0';
CREATE PROCEDURE p(INOUT a int) LANGUAGE sql AS 'SELECT 1';
SELECT parameter_name, parameter_mode, data_type, udt_schema, udt_name, parameter_default FROM information_schema.parameters WHERE specific_schema = 'gen' ORDER BY specific_name, ordinal_position;
SELECT routine_name, is_null_call, schema_level_routine, max_dynamic_result_sets FROM information_schema.routines WHERE specific_schema = 'gen' ORDER BY 1;
SELECT count(*) FROM information_schema.routines r JOIN pg_proc p ON nameconcatoid(p.proname, p.oid) = r.specific_name WHERE r.specific_schema = 'gen';
CREATE TABLE whole (a int, b int NOT NULL CHECK (b > 0), c int UNIQUE, PRIMARY KEY (a), EXCLUDE (b WITH =));
CREATE TABLE parted (a int, b int NOT NULL CONSTRAINT b_ck CHECK (b > 0), c int, PRIMARY KEY (a, b), UNIQUE (a, c)) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
SELECT conrelid::regclass, conname, contype, conislocal, coninhcount, connoinherit FROM pg_constraint WHERE connamespace = 'gen'::regnamespace AND conrelid <> 0 ORDER BY 1, 2;
SELECT table_name, regexp_replace(constraint_name, '^\d+_\d+_', '') AS name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'gen' ORDER BY 1, 2;
SELECT table_name, constraint_name, column_name, ordinal_position FROM information_schema.key_column_usage WHERE table_schema = 'gen' ORDER BY 1, 2, 4;
SELECT table_name, constraint_name, column_name FROM information_schema.constraint_column_usage WHERE table_schema = 'gen' ORDER BY 1, 2, 3;
SELECT regexp_replace(constraint_name, '^\d+_\d+_', '') AS name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = 'gen' ORDER BY 1, 2;
-- A label is renamed though a view has its letters.
CREATE VIEW v AS SELECT a, c FROM t WHERE c <> 'banana';
ALTER TYPE mood RENAME VALUE 'a' TO 'aa';
ALTER TYPE mood RENAME VALUE 'it''s' TO 'that''s';
SELECT enum_range(NULL::mood);
-- Names in messages are as they were written.
SELECT gen.f(1, 2, 3);
SELECT gen.f(z => 1);
SELECT gen.none(1, 'x', NULL);
SELECT gen.none(z => 1::numeric);
SELECT none(1);
CALL gen.f(1, NULL);
SELECT gen.p(1);
-- A list of one is a comparison.
CREATE TABLE lists (a varchar, b int, n mood, CHECK (a IN ('x')), CHECK (b NOT IN (1)), CHECK (b IN (1, 2)), CHECK (b IN (b)), CHECK (b IN (1, b)), CHECK (b NOT IN (1, b, 2, b + 1)), CHECK (n IN ('ok')), CHECK (n IN ('ok', 'aa')));
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'lists'::regclass ORDER BY conname;
CREATE VIEW listed AS SELECT a IN ('x') AS p, b IN (1) AS q, b NOT IN (2, 3) AS r, b IN (b, 1) AS s FROM lists;
SELECT pg_get_viewdef('listed'), pg_get_viewdef('listed', true);
-- Words of later versions are names.
SELECT json('{"a": 1}'), pg_typeof(json('[]'));
SELECT json_value('{}'::jsonb, '$.a');
SELECT json_exists('{}'::jsonb, '$.a');
SELECT json_query('{}'::jsonb, '$.a');
SELECT json_scalar(1);
SELECT json_serialize('{}');
SELECT json_array(1, 'x');
SELECT merge_action();
CREATE FUNCTION "json_value"(a jsonb, b text) RETURNS text LANGUAGE sql AS 'SELECT a ->> b';
SELECT json_value('{"a": 5}'::jsonb, 'a');
SET client_min_messages = error;
DROP SCHEMA gen CASCADE;
