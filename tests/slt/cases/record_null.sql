-- Records that are NULL, and records that get other fields.
CREATE FUNCTION rn1() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN r := NULL; RETURN (r IS NULL)::text; END $$;
SELECT rn1();
CREATE FUNCTION rn2() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; r := NULL; RETURN r.a; END $$;
SELECT rn2();
CREATE FUNCTION rn3() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a, 'x' AS b INTO r; r := NULL; IF r IS NULL THEN SELECT 2 AS a, 3 AS c INTO r; END IF; RETURN r.a || ',' || r.c; END $$;
SELECT rn3();
CREATE FUNCTION rn4(i int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF i = 1 THEN SELECT 1 AS a, 'x' AS b INTO r; ELSE r := NULL; END IF; IF r IS NULL THEN RETURN 'none'; END IF; RETURN r.a || r.b; END $$;
SELECT rn4(1), rn4(2);
CREATE FUNCTION rn5() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text := ''; BEGIN FOR i IN 1..4 LOOP IF i % 2 = 1 THEN SELECT i AS a INTO r; ELSE r := NULL; END IF; t := t || coalesce(r.a::text, '-'); END LOOP; RETURN t; EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN 'not assigned ' || t; END $$;
SELECT rn5() LIKE 'not assigned%' OR rn5() = '1-3-';
-- Other fields in a branch.
CREATE FUNCTION rn6(i int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text; BEGIN SELECT 1 AS a INTO r; IF i = 1 THEN SELECT 'x' AS b, 2 AS c INTO r; t := r.b || r.c; ELSIF i = 2 THEN SELECT 5.5 AS d INTO r; t := r.d; ELSE t := 'none'; END IF; SELECT 'y' AS e INTO r; RETURN t || r.e; END $$;
SELECT rn6(1), rn6(2), rn6(3);
CREATE FUNCTION rn7(i int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; IF r.a = i THEN RAISE NOTICE '%', r.a; SELECT 'x' AS b INTO r; RETURN r.b; END IF; RETURN 'none'; END $$;
SELECT rn7(1), rn7(2);
-- In loops.
CREATE FUNCTION rn8() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text := ''; BEGIN SELECT 1 AS a INTO r; t := r.a; FOR i IN 1..3 LOOP SELECT i AS b, 'x' AS c INTO r; t := t || r.b || r.c; END LOOP; SELECT 'end' AS d INTO r; RETURN t || r.d; END $$;
SELECT rn8();
CREATE FUNCTION rn9() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text := ''; i int := 0; BEGIN SELECT 1 AS a INTO r; WHILE i < 3 LOOP i := i + 1; SELECT i AS b INTO r; IF i = 2 THEN SELECT 'two' AS c, 2 AS d INTO r; t := t || r.c; ELSE t := t || r.b; END IF; END LOOP; RETURN t; END $$;
SELECT rn9();
CREATE FUNCTION rn10() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text := ''; BEGIN FOR r IN SELECT g AS a FROM generate_series(1, 2) g LOOP t := t || r.a; END LOOP; FOR r IN SELECT 'x' AS b, g AS c FROM generate_series(1, 2) g LOOP t := t || r.b || r.c; END LOOP; BEGIN SELECT 1 / 0 AS z INTO r; EXCEPTION WHEN division_by_zero THEN SELECT 'caught' AS m INTO r; t := t || r.m; END; RETURN t; END $$;
SELECT rn10();
CREATE FUNCTION rn11(i int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF i = 1 THEN SELECT 1 AS a INTO r; ELSE SELECT 2 AS a, 3 AS b INTO r; SELECT 4 AS a, 5 AS b, 6 AS c INTO r; END IF; SELECT 'z' AS d INTO r; RETURN r.d; END $$;
SELECT rn11(1), rn11(2);
-- Rows of a type.
CREATE TYPE rn_type AS (a int, b text);
CREATE FUNCTION rn12() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r rn_type; q record; BEGIN r := NULL; r.a := 1; q := r; q := NULL; q := r; r := NULL; RETURN q.a || coalesce(r.b, '-') || (r IS NULL); END $$;
SELECT rn12();
DROP FUNCTION rn1, rn2, rn3, rn4, rn5, rn6, rn7, rn8, rn9, rn10, rn11, rn12;
DROP TYPE rn_type;
