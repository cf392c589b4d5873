-- A function that returns record gives rows as its caller wants them, and may give others to another caller.
CREATE FUNCTION record_shape(int) RETURNS record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF $1 > 10 THEN SELECT INTO r 5, 10, 15; RETURN r; ELSE SELECT INTO r 50, 5::numeric, 'xxx'::text; RETURN r; END IF; END $$;
SELECT * FROM record_shape(1500) AS (a int, b int, c int);
SELECT * FROM record_shape(5) AS (a int, b numeric, c text);
SELECT * FROM record_shape(5) AS (a int, b int, c int);
CREATE FUNCTION record_shapes(int) RETURNS SETOF record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF $1 > 10 THEN SELECT INTO r 5, 10; RETURN NEXT r; RETURN NEXT r; ELSE SELECT INTO r 'x'::text; RETURN NEXT r; END IF; END $$;
SELECT * FROM record_shapes(1500) AS (a int, b int);
SELECT * FROM record_shapes(5) AS (a text);
SELECT * FROM record_shapes(5) AS (a int, b int);
CREATE FUNCTION record_queries(int) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN IF $1 > 10 THEN RETURN QUERY SELECT 1, 2; ELSE RETURN QUERY SELECT 'x'::text; END IF; END $$;
SELECT * FROM record_queries(1500) AS (a int, b int);
SELECT * FROM record_queries(5) AS (a text);
SELECT * FROM record_queries(1500) AS (a text);
DROP FUNCTION record_shape, record_shapes, record_queries;
