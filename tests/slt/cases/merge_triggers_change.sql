-- Rows of later pairs of a MERGE that BEFORE triggers of earlier ones have changed.
CREATE TABLE mc (id int PRIMARY KEY, v int, w text);
CREATE FUNCTION mc_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.w = 'other' THEN UPDATE mc SET v = v + 100, w = 't' WHERE id = NEW.v; ELSIF NEW.w = 'gone' THEN DELETE FROM mc WHERE id = NEW.v; END IF; RETURN NEW; END $$;
CREATE TRIGGER mc_before BEFORE INSERT OR UPDATE ON mc FOR EACH ROW EXECUTE FUNCTION mc_before();
INSERT INTO mc SELECT i, 0, 'a' FROM generate_series(1, 6) i;
MERGE INTO mc USING (VALUES (1, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w, v = s.v;
MERGE INTO mc USING (VALUES (1, 'gone', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w, v = s.v;
MERGE INTO mc USING (VALUES (1, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED AND i = 1 THEN UPDATE SET w = s.w, v = s.v WHEN MATCHED THEN DELETE;
MERGE INTO mc USING (VALUES (1, 'gone', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED AND i = 1 THEN UPDATE SET w = s.w, v = s.v WHEN MATCHED THEN DELETE;
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
MERGE INTO mc USING (VALUES (11, 'gone', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
SELECT * FROM mc ORDER BY id;
-- Rows of earlier pairs, of none, and of clauses that do nothing.
MERGE INTO mc USING (VALUES (1, 'x', 0), (2, 'other', 1)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w, v = s.v;
SELECT * FROM mc ORDER BY id;
MERGE INTO mc USING (VALUES (1, 'other', 6), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w, v = s.v;
SELECT * FROM mc ORDER BY id;
MERGE INTO mc USING (VALUES (1, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED AND i = 2 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET w = s.w, v = s.v;
SELECT * FROM mc ORDER BY id;
-- A trigger that is off is asked for nothing, and tells in which words a change is refused.
DROP TRIGGER mc_before ON mc;
CREATE TRIGGER mc_before BEFORE INSERT ON mc FOR EACH ROW EXECUTE FUNCTION mc_before();
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
CREATE TRIGGER mc_off BEFORE UPDATE OR DELETE ON mc FOR EACH ROW EXECUTE FUNCTION mc_before();
ALTER TABLE mc DISABLE TRIGGER mc_off;
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
ALTER TABLE mc DISABLE TRIGGER mc_before;
MERGE INTO mc USING (VALUES (11, 'other', 2), (2, 'x', 0)) s (i, w, v) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET w = s.w WHEN NOT MATCHED THEN INSERT VALUES (i, s.v, s.w);
SELECT * FROM mc ORDER BY id;
DROP TABLE mc;
DROP FUNCTION mc_before;
-- AFTER triggers come when all pairs are done.
CREATE TABLE mc (id int PRIMARY KEY, v int);
CREATE FUNCTION mc_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF pg_trigger_depth() = 1 THEN UPDATE mc SET v = v + 100 WHERE id <> NEW.id; END IF; RETURN NULL; END $$;
CREATE TRIGGER mc_after AFTER UPDATE ON mc FOR EACH ROW EXECUTE FUNCTION mc_after();
INSERT INTO mc VALUES (1, 1), (2, 2), (3, 3);
MERGE INTO mc USING (VALUES (1), (2)) s (i) ON mc.id = s.i WHEN MATCHED THEN UPDATE SET v = 7;
SELECT * FROM mc ORDER BY id;
DROP TABLE mc;
DROP FUNCTION mc_after;
