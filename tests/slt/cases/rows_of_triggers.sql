-- NEW and OLD as values: one whose fields are all NULL is a row, one that is not there is NULL.
CREATE TABLE rt (a int, b text);
CREATE TABLE rt_log (n int GENERATED ALWAYS AS IDENTITY, what text);
CREATE FUNCTION rt_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO rt_log (what) VALUES (TG_OP || ' ' || coalesce(NEW::text, 'none') || ' ' || coalesce(OLD::text, 'none') || ' ' || (NEW IS NULL)::text || ' ' || (OLD IS NULL)::text || ' ' || coalesce(to_jsonb(NEW)::text, '-') || ' ' || coalesce(row_to_json(OLD)::text, '-')); IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
CREATE TRIGGER rt_note BEFORE INSERT OR UPDATE OR DELETE ON rt FOR EACH ROW EXECUTE FUNCTION rt_note();
INSERT INTO rt VALUES (NULL, NULL), (1, NULL);
UPDATE rt SET a = NULL;
UPDATE rt SET a = 1;
DELETE FROM rt;
SELECT what FROM rt_log ORDER BY n;
TRUNCATE rt_log RESTART IDENTITY;
DROP TRIGGER rt_note ON rt;
-- Compared as wholes.
CREATE FUNCTION rt_compare() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW <> OLD THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' ne'); END IF; IF NEW = OLD THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' eq'); END IF; IF NOT (NEW = OLD) THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' not eq'); END IF; IF NEW > OLD THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' gt'); END IF; IF NEW IS DISTINCT FROM OLD THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' distinct'); END IF; IF NEW IS NOT DISTINCT FROM OLD THEN INSERT INTO rt_log (what) VALUES (TG_OP || ' indistinct'); END IF; RETURN NULL; END $$;
CREATE TRIGGER rt_compare AFTER INSERT OR UPDATE OR DELETE ON rt FOR EACH ROW EXECUTE FUNCTION rt_compare();
INSERT INTO rt VALUES (1, 'a');
INSERT INTO rt VALUES (NULL, NULL);
UPDATE rt SET b = b WHERE a = 1;
UPDATE rt SET b = 'b' WHERE a = 1;
UPDATE rt SET b = NULL WHERE a IS NULL;
DELETE FROM rt;
SELECT what FROM rt_log ORDER BY n;
TRUNCATE rt_log RESTART IDENTITY;
DROP TRIGGER rt_compare ON rt;
-- Set to NULL under a condition.
CREATE FUNCTION rt_none() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.a = 1 THEN NEW := NULL; END IF; RETURN NEW; END $$;
CREATE TRIGGER rt_none BEFORE INSERT ON rt FOR EACH ROW EXECUTE FUNCTION rt_none();
INSERT INTO rt VALUES (1, 'a'), (2, 'b'), (NULL, NULL);
SELECT * FROM rt ORDER BY a;
DROP TRIGGER rt_none ON rt;
TRUNCATE rt_log RESTART IDENTITY;
CREATE TRIGGER rt_when AFTER INSERT ON rt FOR EACH ROW WHEN (NEW::text IS NULL) EXECUTE FUNCTION rt_note();
CREATE TRIGGER rt_when_null AFTER INSERT ON rt FOR EACH ROW WHEN (NEW IS NULL) EXECUTE FUNCTION rt_note();
INSERT INTO rt VALUES (NULL, NULL);
SELECT what FROM rt_log ORDER BY n;
-- Rows of an outer join that are not there.
CREATE TABLE rt_o (a int, b text);
INSERT INTO rt_o VALUES (2, 'b'), (3, NULL);
SELECT o, r, o = r, o <> r, r = o, o < r, o IS DISTINCT FROM r, o IS NOT DISTINCT FROM r, r IS DISTINCT FROM r FROM rt_o o LEFT JOIN rt r USING (a) ORDER BY o.a;
SELECT o < p, o <= p, o > p FROM rt_o o, rt_o p ORDER BY o.a, p.a;
DROP TABLE rt, rt_o, rt_log;
DROP FUNCTION rt_note, rt_compare, rt_none;
-- ROW(r.*) is the row's fields.
CREATE TABLE rt_s (x int, y text);
INSERT INTO rt_s VALUES (1, 'a'), (2, NULL), (NULL, NULL);
SELECT ROW(s.*), ROW(s.*, 1), ROW(0, s.*, s.*) FROM rt_s s ORDER BY x;
SELECT ROW(s.*) = ROW(t.*), ROW(s.*) <> ROW(t.*), ROW(s.*) IS DISTINCT FROM ROW(t.*), ROW(s.*) = ROW(1, 'a'), ROW(s.*, 3) > ROW(t.x, 'a', 2) FROM rt_s s, rt_s t ORDER BY s.x, t.x;
SELECT ROW(s.*) = ROW(1) FROM rt_s s;
DROP TABLE rt_s;
