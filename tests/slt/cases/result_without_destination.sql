-- A query whose result goes nowhere is refused when it is reached.
CREATE PROCEDURE nowhere() LANGUAGE plpgsql AS $$ BEGIN SELECT 1; END; $$;
CALL nowhere();
CREATE FUNCTION nowhere(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n > 0 THEN SELECT n; END IF; RETURN 'not reached'; END; $$;
SELECT nowhere(0);
SELECT nowhere(1);
SELECT nowhere(0);
CREATE TABLE going_nowhere (a int);
CREATE FUNCTION nowhere(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN INSERT INTO going_nowhere VALUES (1) RETURNING a; EXCEPTION WHEN syntax_error THEN RETURN SQLERRM; END; RETURN 'done'; END; $$;
SELECT nowhere('x');
SELECT * FROM going_nowhere;
DROP ROUTINE nowhere();
DROP FUNCTION nowhere(int);
DROP FUNCTION nowhere(text);
DROP TABLE going_nowhere;
-- CALL of a function tells that it is one, also by its OUT arguments.
CREATE FUNCTION gives_two(a INOUT int, b OUT int) LANGUAGE plpgsql AS $$ BEGIN b := a; a := 1; END; $$;
CALL gives_two(1, NULL);
CALL gives_two(1);
CALL gives_two('x', 'y');
CALL gives_two(1, 2, 3);
SELECT * FROM gives_two(4);
SELECT gives_two(4, 5);
DROP FUNCTION gives_two(int);
SHOW max_prepared_transactions;
CALL now();
CALL pg_catalog.lower('X');
CALL lower(1, 2);
CALL nosuch_procedure(1);
