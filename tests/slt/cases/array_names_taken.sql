-- A type may have the name that an array's type would have.
CREATE TYPE taken AS (i int);
CREATE TYPE _taken AS ENUM ('a', 'b');
CREATE TABLE taken_t (a taken, b _taken, c taken[], d _taken[]);
SELECT attname, typname, typtype, typcategory, atttypid::regtype FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE attrelid = 'taken_t'::regclass AND attnum > 0 ORDER BY attnum;
SELECT typname, typelem::regtype, typarray::regtype FROM pg_type WHERE typname ~ '^_*taken$' ORDER BY typname;
SELECT pg_typeof(NULL::__taken), pg_typeof(NULL::___taken), pg_typeof(NULL::_taken);
SELECT udt_name FROM information_schema.columns WHERE table_name = 'taken_t' ORDER BY ordinal_position;
CREATE TABLE _beside (a int);
CREATE TABLE beside (a int);
SELECT typname, typelem::regtype FROM pg_type WHERE typname ~ '^_*beside$' ORDER BY typname;
DROP TABLE taken_t, _beside, beside;
DROP TYPE taken;
SELECT typname, typelem::regtype FROM pg_type WHERE typname ~ '^_*taken$' AND typcategory <> 'A' ORDER BY typname;
DROP TYPE _taken;
