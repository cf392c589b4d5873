CREATE TABLE index_shown (a int, b int, c text, d varchar(20), e char(3), f timestamp, g int8)
CREATE UNIQUE INDEX index_shown_u ON index_shown (a DESC, b NULLS FIRST) INCLUDE (c, d)
CREATE INDEX index_shown_h ON index_shown USING hash (c)
CREATE INDEX index_shown_b ON index_shown USING brin (a, f, c)
CREATE INDEX index_shown_p ON index_shown (c text_pattern_ops DESC, d varchar_pattern_ops, e bpchar_pattern_ops, lower(c) text_pattern_ops)
CREATE INDEX index_shown_w ON index_shown (a) INCLUDE (b) WHERE c > 'x'
CREATE INDEX index_shown_o ON index_shown (c text_ops, d varchar_ops, a int4_ops, e)
CREATE INDEX ON index_shown (a) INCLUDE (b, a)
CREATE INDEX index_shown_hp ON index_shown USING hash (d varchar_pattern_ops)
SELECT c.relname, indnatts, indnkeyatts, indkey, indcollation, indclass, indoption, pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 1, true), pg_get_indexdef(indexrelid, 3, true), pg_get_indexdef(indexrelid, 5, false) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'index_shown'::regclass ORDER BY 1
SELECT c.relname, am.amname, c.relnatts FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE c.relname LIKE 'index\_shown%' ORDER BY 1
SELECT c.relname, attnum, attname, atttypid::regtype, attcollation FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE c.relname IN ('index_shown_u', 'index_shown_p', 'index_shown_a_b_a1_idx') ORDER BY 1, 2
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'index_shown' ORDER BY 1
SELECT c.relname, array(SELECT opcname || ' ' || opcdefault || ' ' || amname FROM unnest(indclass) WITH ORDINALITY AS k(o, n) JOIN pg_opclass ON pg_opclass.oid = o JOIN pg_am ON pg_am.oid = opcmethod ORDER BY n) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'index_shown'::regclass ORDER BY 1
SELECT i, n, p, pg_index_column_has_property(('index_shown_' || i)::regclass, n, p) FROM unnest(ARRAY['u', 'h', 'b']) i, generate_series(0, 3) n, unnest(ARRAY['asc', 'DESC', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls', 'other']) p WHERE i = 'u' OR n = 1 ORDER BY 1, 2, 3
SELECT i, p, pg_index_has_property(('index_shown_' || i)::regclass, p) FROM unnest(ARRAY['u', 'h', 'b']) i, unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan', 'other']) p ORDER BY 1, 2
SELECT a, p, pg_indexam_has_property(a, p) FROM unnest(ARRAY[403, 405, 3580]) a, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include', 'other']) p ORDER BY 1, 2
SELECT pg_index_has_property('index_shown'::regclass, 'clusterable'), pg_index_column_has_property('index_shown'::regclass, 1, 'asc')
INSERT INTO index_shown VALUES (1, 2, 'x', 'y', 'z', NULL, 4), (1, 3, 'x', 'y', 'z', NULL, 4)
INSERT INTO index_shown VALUES (1, 3, 'other', 'y', 'z', NULL, 4)
SELECT g FROM index_shown WHERE c = 'x' AND d LIKE 'y%' ORDER BY 1
CREATE INDEX ON index_shown USING hash (a, b)
CREATE UNIQUE INDEX ON index_shown USING hash (a)
CREATE INDEX ON index_shown USING hash (a) INCLUDE (b)
CREATE INDEX ON index_shown USING hash (a DESC)
CREATE INDEX ON index_shown (a text_pattern_ops)
CREATE INDEX ON index_shown (c int4_ops)
CREATE INDEX ON index_shown (a) INCLUDE (lower(c))
CREATE INDEX ON index_shown (a) INCLUDE (b DESC)
CREATE INDEX ON index_shown (a) INCLUDE (no_such_column)
CREATE TABLE index_shown_like (LIKE index_shown INCLUDING INDEXES)
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'index_shown_like' ORDER BY 1
DROP TABLE index_shown_like
ALTER TABLE index_shown RENAME COLUMN b TO bb
ALTER TABLE index_shown DROP COLUMN d
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'index_shown' ORDER BY 1
DROP INDEX index_shown_h
ALTER TABLE index_shown ALTER COLUMN a TYPE bigint
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'index_shown' ORDER BY 1
DROP TABLE index_shown
