SELECT array_lower('1 2 3'::int2vector, 1), array_upper('1 2 3'::int2vector, 1), array_length('1 2 3'::int2vector, 1), array_dims('1 2 3'::int2vector)
SELECT array_lower('1 2 3'::oidvector, 1), array_upper('1 2 3'::oidvector, 1), array_length('1 2 3'::oidvector, 1), array_dims('1 2 3'::oidvector)
SELECT array_lower(''::int2vector, 1), array_upper(''::int2vector, 1), array_length(''::int2vector, 1), array_dims(''::int2vector), cardinality(''::int2vector)
SELECT array_lower('1 2'::int2vector, 2), array_upper('1 2'::oidvector, 0), array_lower(NULL::int2vector, 1)
SELECT array_lower(ARRAY[4, 5], 1), array_upper(ARRAY[4, 5], 1), array_dims(ARRAY[4, 5])
SELECT k FROM generate_subscripts('7 8'::int2vector, 1) AS k
SELECT k FROM generate_subscripts('7 8'::oidvector, 1, true) AS k
SELECT k FROM generate_subscripts('7 8'::int2vector, 2) AS k
SELECT k FROM generate_subscripts(ARRAY[7, 8], 1) AS k
SELECT ('7 8 9'::int2vector)[0], ('7 8 9'::int2vector)[3], ('7 8 9'::int2vector)[0:1], ('7 8 9'::int2vector)[1:], ('7 8 9'::oidvector)[:0]
SELECT array_position('7 8 9'::int2vector, 8::int2), array_position('7 8 9'::int2vector, 9), array_position('7 8 9'::oidvector, 7), array_position('7'::int2vector, 3::int2)
CREATE TABLE vector_bounds (a int, b int, c text)
CREATE INDEX vector_bounds_i ON vector_bounds (c, lower(c), a DESC)
SELECT unnest(indkey), generate_subscripts(indkey, 1) FROM pg_index WHERE indexrelid = 'vector_bounds_i'::regclass
SELECT k, pg_get_indexdef(i.indexrelid, k + 1, true) FROM pg_index i, generate_subscripts(i.indkey, 1) k WHERE i.indexrelid = 'vector_bounds_i'::regclass ORDER BY k
SELECT array(SELECT pg_get_indexdef(indexrelid, k + 1, true) FROM generate_subscripts(indkey, 1) AS k ORDER BY k) FROM pg_index WHERE indexrelid = 'vector_bounds_i'::regclass
SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indexrelid = 'vector_bounds_i'::regclass ORDER BY array_position(i.indkey, a.attnum)
DROP TABLE vector_bounds
