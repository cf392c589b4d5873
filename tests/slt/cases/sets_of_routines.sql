-- Sets in a select list whose arguments call routines.
CREATE FUNCTION sr_same(a int[]) RETURNS bigint[] LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
CREATE FUNCTION sr_sql(a int[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS 'SELECT a::bigint[]';
CREATE FUNCTION sr_set(n int) RETURNS SETOF int LANGUAGE sql AS 'SELECT generate_series(1, n)';
SELECT unnest(sr_sql(ARRAY[1, 2]));
SELECT unnest(sr_same(ARRAY[1, 2]));
SELECT unnest(sr_same(ARRAY[1, 2])) AS id;
SELECT unnest(sr_same(ARRAY[1, 2])) + 1;
SELECT generate_series(1, (sr_same(ARRAY[3]))[1]);
SELECT sr_set(3);
SELECT sr_set(3) + 1;
SELECT sr_set(array_length(sr_same(ARRAY[3, 4]), 1)) AS n;
SELECT jsonb_array_elements_text(to_jsonb(sr_same(ARRAY[3, 4])));
DROP FUNCTION sr_same, sr_sql, sr_set;
