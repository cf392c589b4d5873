-- xmax tells what ON CONFLICT DO UPDATE has found from what it has added.
CREATE TABLE ic_t (id int PRIMARY KEY, v text, n int);
CREATE UNIQUE INDEX ic_n ON ic_t (n) WHERE v IS NOT NULL;
INSERT INTO ic_t VALUES (1, 'a', 1) RETURNING id, xmax = 0 AS added;
INSERT INTO ic_t VALUES (1, 'b', 2), (2, 'c', 3) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, (xmax = 0) AS added, xmax <> 0 AS changed;
INSERT INTO ic_t VALUES (3, 'x', 3), (4, 'y', 4) ON CONFLICT (n) WHERE v IS NOT NULL DO UPDATE SET v = excluded.v RETURNING ic_t.id, v, (ic_t.xmax = 0) AS added, CASE WHEN ic_t.xmax::text::int > 0 THEN 'updated' ELSE 'inserted' END;
WITH up AS (INSERT INTO ic_t AS t VALUES (1, 'q', 9), (5, 'r', 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING t.id, (t.xmax = 0) AS added) SELECT count(*) FILTER (WHERE added), count(*) FILTER (WHERE NOT added) FROM up;
INSERT INTO ic_t VALUES (1, 'z', 9) ON CONFLICT DO NOTHING RETURNING xmax = 0;
INSERT INTO ic_t VALUES (6, 'z', 9) ON CONFLICT DO NOTHING RETURNING xmax = 0;
CREATE FUNCTION ic_touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v || '!'; RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON ic_t FOR EACH ROW EXECUTE FUNCTION ic_touch();
INSERT INTO ic_t VALUES (1, 'd', 2), (7, 'e', 3) ON CONFLICT (id) DO UPDATE SET v = excluded.v || ic_t.v RETURNING id, v, xmax = 0 AS added;
CREATE FUNCTION ic_put(i int) RETURNS boolean LANGUAGE plpgsql AS $$ DECLARE a boolean; BEGIN INSERT INTO ic_t VALUES (i, 'p') ON CONFLICT (id) DO UPDATE SET v = 'pp' RETURNING xmax = 0 INTO a; RETURN a; END $$;
SELECT ic_put(50), ic_put(50);
SELECT id, v FROM ic_t ORDER BY id;
DROP TABLE ic_t;
DROP FUNCTION ic_touch, ic_put;
