CREATE TABLE collation_t (a text COLLATE "C", b varchar(5) COLLATE "POSIX", c text COLLATE "default", d name, e text COLLATE pg_catalog."C", f text[] COLLATE "C", g int, h text)
CREATE INDEX collation_i ON collation_t (a, b, c, g) INCLUDE (e)
SELECT attname, attcollation FROM pg_attribute WHERE attrelid = 'collation_t'::regclass AND attnum > 0 ORDER BY attnum
SELECT attname, attcollation FROM pg_attribute WHERE attrelid = 'collation_i'::regclass AND attnum > 0 ORDER BY attnum
SELECT indcollation, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'collation_t'::regclass
SELECT column_name, collation_schema, collation_name FROM information_schema.columns WHERE table_name = 'collation_t' ORDER BY ordinal_position
ALTER TABLE collation_t ALTER COLUMN h TYPE text COLLATE "C"
ALTER TABLE collation_t ALTER COLUMN a TYPE varchar(9)
ALTER TABLE collation_t ADD COLUMN k text COLLATE "C"
ALTER TABLE collation_t DROP COLUMN e
CREATE TABLE collation_l (LIKE collation_t)
SELECT attrelid::regclass, attname, attcollation FROM pg_attribute WHERE attrelid IN ('collation_t'::regclass, 'collation_l'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum
CREATE TABLE collation_n (a int COLLATE "C")
ALTER TABLE collation_t ALTER COLUMN g TYPE bigint COLLATE "C"
SELECT oid, collname, collprovider FROM pg_collation WHERE collname IN ('default', 'C', 'POSIX') ORDER BY 1
DROP TABLE collation_t
DROP TABLE collation_l
