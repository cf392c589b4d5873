BEGIN
DECLARE cursor_a SCROLL CURSOR FOR SELECT 1
DECLARE cursor_b SCROLL CURSOR WITH HOLD FOR SELECT 'x' AS t
DECLARE cursor_c NO SCROLL CURSOR FOR SELECT generate_series FROM generate_series(1, 3)
SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time IS NOT NULL FROM pg_cursors ORDER BY name
FETCH 2 FROM cursor_c
SELECT name FROM pg_cursors ORDER BY name
CLOSE cursor_a
SELECT name FROM pg_cursors ORDER BY name
COMMIT
SELECT name FROM pg_cursors ORDER BY name
FETCH ALL FROM cursor_b
CLOSE ALL
SELECT name FROM pg_cursors ORDER BY name
BEGIN
DECLARE cursor_d NO SCROLL CURSOR FOR SELECT 1
ROLLBACK
SELECT name FROM pg_cursors ORDER BY name
