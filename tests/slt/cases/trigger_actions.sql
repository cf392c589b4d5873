-- What foreign keys bring about fires triggers.
CREATE TABLE ta_log (n int GENERATED ALWAYS AS IDENTITY, what text);
CREATE FUNCTION ta_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ta_log (what) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || TG_TABLE_NAME || ' ' || TG_NAME || ' ' || coalesce(to_jsonb(OLD)::text, '-') || ' ' || coalesce(to_jsonb(NEW)::text, '-')); RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END $$;
CREATE FUNCTION ta_whole() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ta_log (what) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || TG_TABLE_NAME || ' ' || TG_LEVEL); RETURN NULL; END $$;
CREATE TABLE ta_p (id int PRIMARY KEY, code text UNIQUE, v int);
CREATE TABLE ta_c (id int PRIMARY KEY, p int DEFAULT 9 REFERENCES ta_p ON DELETE CASCADE ON UPDATE CASCADE, code text REFERENCES ta_p (code) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE ta_g (id int PRIMARY KEY, c int REFERENCES ta_c ON DELETE CASCADE ON UPDATE SET NULL);
INSERT INTO ta_p VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0), (9, 'z', 0);
INSERT INTO ta_c VALUES (10, 1, 'a'), (11, 1, 'b'), (12, 2, 'b'), (13, 3, NULL), (14, NULL, 'c');
INSERT INTO ta_g VALUES (100, 10), (101, 10), (102, 11), (103, 12), (104, 13);
CREATE TRIGGER note_after AFTER INSERT OR UPDATE OR DELETE ON ta_c FOR EACH ROW EXECUTE FUNCTION ta_note();
CREATE TRIGGER note_before BEFORE INSERT OR UPDATE OR DELETE ON ta_c FOR EACH ROW EXECUTE FUNCTION ta_note();
CREATE TRIGGER note_g AFTER UPDATE OR DELETE ON ta_g FOR EACH ROW EXECUTE FUNCTION ta_note();
-- A removal takes children and theirs.
DELETE FROM ta_p WHERE id = 1;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_c ORDER BY id;
SELECT * FROM ta_g ORDER BY id;
TRUNCATE ta_log;
-- A change of the key.
UPDATE ta_p SET id = id + 20, v = v + 1 WHERE id < 9 RETURNING id, code;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_c ORDER BY id;
TRUNCATE ta_log;
-- Of the other key, and of none.
UPDATE ta_p SET code = code || '!' WHERE id = 22;
UPDATE ta_p SET v = 7, id = id;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_c ORDER BY id;
TRUNCATE ta_log;
-- ON CONFLICT DO UPDATE of the key.
INSERT INTO ta_p VALUES (22, 'q', 1) ON CONFLICT (id) DO UPDATE SET id = 50, code = excluded.code;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_c ORDER BY id;
TRUNCATE ta_log;
-- What the child's triggers say counts.
CREATE FUNCTION ta_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id = 12 THEN RAISE EXCEPTION 'twelve stays'; END IF; RETURN OLD; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON ta_c FOR EACH ROW EXECUTE FUNCTION ta_refuse();
DELETE FROM ta_p;
SELECT count(*) FROM ta_p;
SELECT * FROM ta_c ORDER BY id;
SELECT count(*) FROM ta_log;
DROP TRIGGER refuse ON ta_c;
-- In a routine, with a handler.
CREATE FUNCTION ta_all() RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN DELETE FROM ta_p WHERE id = 50; GET DIAGNOSTICS n = ROW_COUNT; RETURN n + (SELECT count(*) FROM ta_log); END $$;
SELECT ta_all();
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_c ORDER BY id;
TRUNCATE ta_log;
-- Disabled, they are no concern; and enabled again.
ALTER TABLE ta_c DISABLE TRIGGER note_before;
ALTER TABLE ta_c DISABLE TRIGGER note_after;
INSERT INTO ta_c VALUES (20, 9, 'z'), (21, 9, NULL);
INSERT INTO ta_g VALUES (200, 20);
UPDATE ta_p SET id = 8 WHERE id = 9;
SELECT what FROM ta_log ORDER BY what;
ALTER TABLE ta_c ENABLE TRIGGER note_after;
WITH gone AS (DELETE FROM ta_p WHERE id = 8 RETURNING id) SELECT * FROM gone;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_g ORDER BY id;
TRUNCATE ta_log;
-- A table that refers to itself.
CREATE TABLE ta_tree (id int PRIMARY KEY, up int REFERENCES ta_tree ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TRIGGER note_tree AFTER UPDATE OR DELETE ON ta_tree FOR EACH ROW EXECUTE FUNCTION ta_note();
INSERT INTO ta_tree VALUES (1, NULL), (2, 1), (3, 2), (4, 2), (5, 1), (6, 6);
UPDATE ta_tree SET id = 20 WHERE id = 2;
SELECT what FROM ta_log ORDER BY what;
TRUNCATE ta_log;
DELETE FROM ta_tree WHERE id IN (1, 6);
SELECT what FROM ta_log ORDER BY what;
SELECT count(*) FROM ta_tree;
TRUNCATE ta_log;
-- Defaults; a default that refers to nothing.
CREATE TABLE ta_d (id int PRIMARY KEY, p int DEFAULT 3 REFERENCES ta_p ON DELETE SET DEFAULT ON UPDATE SET DEFAULT);
CREATE TRIGGER note_d BEFORE UPDATE OF p ON ta_d FOR EACH ROW EXECUTE FUNCTION ta_note();
CREATE TRIGGER note_whole BEFORE UPDATE OR DELETE ON ta_d FOR EACH STATEMENT EXECUTE FUNCTION ta_whole();
INSERT INTO ta_p VALUES (3, 'x', 0), (4, 'y', 0);
INSERT INTO ta_d VALUES (1, 4), (2, 3);
DELETE FROM ta_p WHERE id = 4;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_d ORDER BY id;
DELETE FROM ta_p WHERE id = 3;
SELECT * FROM ta_d ORDER BY id;
TRUNCATE ta_log;
-- Keys of several columns and other types; SET NULL of some.
CREATE TABLE ta_two (a bigint, b text, PRIMARY KEY (a, b));
CREATE TABLE ta_of_two (id int PRIMARY KEY, a int, b varchar(10), FOREIGN KEY (a, b) REFERENCES ta_two ON DELETE SET NULL (b) ON UPDATE CASCADE);
CREATE TRIGGER note_two AFTER UPDATE OR DELETE ON ta_of_two FOR EACH ROW EXECUTE FUNCTION ta_note();
INSERT INTO ta_two VALUES (1, 'x'), (2, 'y');
INSERT INTO ta_of_two VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 2, NULL);
UPDATE ta_two SET a = 7 WHERE a = 1;
UPDATE ta_two SET a = 3000000000 WHERE a = 2;
DELETE FROM ta_two WHERE a = 2;
SELECT what FROM ta_log ORDER BY what;
SELECT * FROM ta_of_two ORDER BY id;
DROP TABLE ta_of_two, ta_two, ta_d, ta_tree, ta_g, ta_c, ta_p, ta_log;
DROP FUNCTION ta_all, ta_note, ta_whole, ta_refuse;
-- A computed result may be NULL: then there is no row.
CREATE TABLE ta_e (id int PRIMARY KEY, v text);
CREATE FUNCTION ta_skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN NEW.v = 'no' THEN NULL ELSE NEW END; END $$;
CREATE FUNCTION ta_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN COALESCE(NEW, OLD); END $$;
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON ta_e FOR EACH ROW EXECUTE FUNCTION ta_skip();
CREATE TRIGGER zfirst BEFORE INSERT OR UPDATE OR DELETE ON ta_e FOR EACH ROW EXECUTE FUNCTION ta_first();
INSERT INTO ta_e VALUES (1, 'yes'), (2, 'no'), (3, NULL) RETURNING *;
UPDATE ta_e SET v = 'no' WHERE id = 1;
UPDATE ta_e SET v = 'well' WHERE id = 3;
DELETE FROM ta_e WHERE id = 1;
SELECT * FROM ta_e ORDER BY id;
DROP TABLE ta_e;
DROP FUNCTION ta_skip, ta_first;
