-- Functions of one's own that have a built-in one's name and take what that does not.
CREATE TABLE bb (x int);
INSERT INTO bb VALUES (1), (2);
CREATE FUNCTION lower(int) RETURNS text LANGUAGE sql AS $$ SELECT 'low' || $1 $$;
SELECT lower(1), lower('ABC'), lower('[2,3)'::int4range), lower(2::smallint);
SELECT lower(x) FROM bb ORDER BY x;
CREATE VIEW bb_v AS SELECT lower(x) AS l FROM bb;
SELECT * FROM bb_v ORDER BY l;
SELECT lower(true);
CREATE FUNCTION length(a text, b text) RETURNS int LANGUAGE sql AS $$ SELECT length(a) + length(b) $$;
SELECT length('ab', 'c'), length('abc');
DROP VIEW bb_v;
DROP FUNCTION lower(int);
DROP FUNCTION length(text, text);
SELECT lower(1);
DROP TABLE bb;
