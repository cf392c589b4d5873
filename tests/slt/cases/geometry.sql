-- What is read, and how it prints.
SELECT ' ( 1 , 2 ) '::point, '1,2'::point, '(1e+300,-Inf)'::point, '(NaN,0.1)'::point, '(-0,1e-7)'::point;
SELECT '[(1,2),(3,4)]'::lseg, '((1,2),(3,4))'::lseg, '(1,2),(3,4)'::lseg, '1,2,3,4'::lseg;
SELECT '(1,4),(3,2)'::box, '((1,4),(3,2))'::box, '1,4,3,2'::box;
SELECT '{1, 2 ,3}'::line, '[(0,0),(0,5)]'::line, '0,0,6,6'::line, '(1,2),(3,5)'::line;
SELECT '((1,2),(3,4))'::path, '(1,2,3,4)'::path, '[1,2,3,4]'::path, '[(1,2)]'::path, '(1,2),(3,4)'::path, '1,2,3,4'::path;
SELECT '(1,2),(3,4),(5,5)'::polygon, '((1,2),(3,4))'::polygon, '1,2'::polygon;
SELECT '<(1,2),3>'::circle, '((1,2),3)'::circle, '(1,2),NaN'::circle, '1,2,3'::circle;
SELECT ''::point;
SELECT '(1,2'::point;
SELECT '(1,2)x'::point;
SELECT '(1 2)'::point;
SELECT '(1e400,1)'::point;
SELECT '[(1,2),(3,4)'::lseg;
SELECT '[(1,2),(3,4)]'::box;
SELECT '(1,2)'::box;
SELECT '{0,0,1}'::line;
SELECT '[(1,1),(1,1)]'::line;
SELECT '{1,2}'::line;
SELECT '[(1,2),(3)]'::path;
SELECT '[]'::path;
SELECT '[(1,2),(3,4)]'::polygon;
SELECT '<(1,2),-3>'::circle;
SELECT '<(1,2),3'::circle;
SELECT point '(1,2)', box '(1,2),(3,4)', point('(1,2)'), box('(1,2),(3,4)'), circle('<(1,2),3>'), point(point(1,2));
SELECT '(1,2)'::point(3);

-- What is made of what.
SELECT point(1, 2), point(1.5::numeric, 2), lseg(point(1,2), point(3,4)), line(point(0,0), point(1,2)), box(point(1,4), point(3,2)), circle(point(1,2), 3), circle(point(1,2), -1), polygon(path '((0,0),(1,1),(2,0))'), path(polygon '((0,0),(1,1),(2,0))');
SELECT line(point(0,0), point(0,0));
SELECT polygon(path '[(0,0),(1,1)]');
SELECT polygon(circle '<(1,2),0>');
SELECT polygon(1, circle '<(1,2),3>');
SELECT polygon(4, circle '<(1,2),3>'), polygon(circle '<(1,2),3>');
SELECT pclose(path '[(0,0),(1,1)]'), popen(path '((0,0),(1,1))'), isopen(path '[(0,0),(1,1)]'), isclosed(path '[(0,0),(1,1)]'), npoints(path '[(0,0),(1,1)]'), npoints(polygon '((0,0),(1,1),(2,0))'), # path '[(0,0),(1,1)]', # polygon '((0,0))';
SELECT '(1,2)'::point::box, (lseg '[(1,2),(3,4)]')::point, (box '(1,2),(3,4)')::point, (circle '<(1,2),3>')::point, (polygon '((0,0),(1,1),(2,0))')::point, (box '(1,2),(3,4)')::lseg, (box '(1,2),(3,4)')::polygon, (box '(1,2),(3,4)')::circle, (circle '<(1,2),3>')::box, (polygon '((0,0),(1,1),(2,0))')::box, (polygon '((0,0),(1,1),(2,0))')::circle, (polygon '((0,0),(1,1),(2,0))')::path, (path '((0,0),(1,1),(2,0))')::polygon;
SELECT (circle '<(1,2),3>')::path;
SELECT '(1,2)'::point::circle;
SELECT '(1,2)'::point::text, '(1,2)'::text::point, point(1,2)::varchar(3), to_json(point(1,2)), ROW(point(1,2), 3), format('%s', box(point(1,2), point(3,4)));

-- Measures.
SELECT area(box '(1,2),(3,5)'), area(circle '<(1,2),3>'), area(path '((0,0),(4,0),(4,3))'), area(path '[(0,0),(4,0),(4,3)]'), center(box '(1,2),(3,5)'), center(circle '<(1,2),3>'), diagonal(box '(1,2),(3,5)'), diameter(circle '<(1,2),3>'), radius(circle '<(1,2),3>'), height(box '(1,2),(3,5)'), width(box '(1,2),(3,5)'), length(lseg '[(0,0),(3,4)]'), length(path '((0,0),(3,0),(3,4))'), length(path '[(0,0),(3,0),(3,4)]');
SELECT @@ lseg '[(0,0),(3,4)]', @@ box '(1,2),(3,5)', @@ circle '<(1,2),3>', @@ polygon '((0,0),(1,1),(2,0))', @-@ lseg '[(0,0),(3,4)]', @-@ path '[(0,0),(3,0),(3,4)]', slope(point(0,0), point(2,1)), slope(point(0,0), point(0,1)), bound_box(box '(1,2),(3,5)', box '(0,0),(2,2)');

-- Arithmetic.
SELECT point(1,2) + point(3,4), point(1,2) - point(3,4), point(1,2) * point(3,4), point(1,2) / point(3,4), point(3,4) * point(1,2) / point(1,2);
SELECT box '(1,2),(3,4)' + point(1,1), box '(1,2),(3,4)' - point(1,1), box '(1,2),(3,4)' * point(0,1), box '(1,2),(3,4)' / point(0,2), circle '<(1,2),3>' + point(1,1), circle '<(1,2),3>' - point(1,1), circle '<(1,2),3>' * point(1,1), circle '<(1,2),3>' / point(0,2);
SELECT path '[(1,2),(3,4)]' + point(1,1), path '((1,2),(3,4))' - point(1,1), path '[(1,2),(3,4)]' * point(0,1), path '[(1,2),(3,4)]' / point(0,2), path '[(1,2),(3,4)]' + path '[(5,6)]', path '((1,2),(3,4))' + path '[(5,6)]';
SELECT point(1,2) / point(0,0);
SELECT point(1e300,1) * point(1e300,1);
SELECT point(1,2) + 1;
SELECT -point(1,2);

-- Distances and where things meet.
SELECT point(1,2) <-> point(4,6), point(1,2) <-> lseg '[(0,0),(5,0)]', point(1,2) <-> line '{1,1,0}', point(9,9) <-> box '(1,2),(3,4)', point(2,3) <-> box '(1,2),(3,4)', point(9,9) <-> circle '<(1,2),3>', point(9,9) <-> polygon '((0,0),(4,0),(4,3))', point(9,9) <-> path '[(0,0),(4,0),(4,3)]', '(1,2)' <-> point(4,6);
SELECT lseg '[(0,0),(5,0)]' <-> point(1,2), lseg '[(0,0),(5,0)]' <-> lseg '[(0,1),(5,3)]', lseg '[(0,0),(5,0)]' <-> box '(1,2),(3,4)', lseg '[(0,0),(5,0)]' <-> line '{1,1,-9}', line '{1,1,0}' <-> line '{1,1,4}', line '{1,1,0}' <-> line '{1,2,4}', box '(1,2),(3,4)' <-> box '(5,6),(7,9)', circle '<(1,2),3>' <-> circle '<(9,9),1>', polygon '((0,0),(4,0),(4,3))' <-> polygon '((9,9),(10,9),(10,10))', polygon '((0,0),(4,0),(4,3))' <-> circle '<(9,9),1>', path '[(0,0),(4,0)]' <-> path '[(0,1),(4,5)]';
SELECT point(1,2) ## lseg '[(0,0),(5,0)]', point(9,9) ## box '(1,2),(3,4)', point(1,2) ## line '{1,1,0}', lseg '[(0,0),(5,0)]' ## lseg '[(0,1),(5,3)]', lseg '[(0,0),(5,0)]' ## lseg '[(0,1),(5,1)]', lseg '[(0,0),(5,0)]' ## box '(1,2),(3,4)', line '{1,1,-9}' ## lseg '[(0,0),(5,0)]';
SELECT lseg '[(0,0),(2,2)]' # lseg '[(0,2),(2,0)]', lseg '[(0,0),(2,2)]' # lseg '[(3,0),(4,0)]', line '{1,-1,0}' # line '{1,1,-2}', line '{1,-1,0}' # line '{1,-1,2}', box '(0,0),(2,2)' # box '(1,1),(3,3)', box '(0,0),(2,2)' # box '(5,5),(6,6)';
SELECT lseg '[(0,0),(2,2)]' ?# lseg '[(0,2),(2,0)]', lseg '[(0,0),(2,2)]' ?# box '(1,1),(3,3)', lseg '[(0,0),(2,2)]' ?# line '{1,1,-2}', path '[(0,0),(2,2)]' ?# path '[(0,2),(2,0)]', box '(0,0),(2,2)' ?# box '(1,1),(3,3)', line '{1,1,-2}' ?# box '(1,1),(3,3)', line '{1,1,-2}' ?# line '{1,1,-3}';

-- What lies in what.
SELECT box '(0,0),(4,4)' @> point(1,2), box '(0,0),(4,4)' @> box '(1,1),(2,2)', circle '<(0,0),3>' @> point(1,2), circle '<(0,0),3>' @> circle '<(1,0),1>', polygon '((0,0),(4,0),(4,3))' @> point(3,1), polygon '((0,0),(4,0),(4,3))' @> polygon '((3,1),(3.5,1),(3.5,2))', path '((0,0),(4,0),(4,3))' @> point(3,1), path '[(0,0),(4,0),(4,3)]' @> point(3,1), path '[(0,0),(4,0),(4,3)]' @> point(4,1);
SELECT point(1,2) <@ box '(0,0),(4,4)', point(1,2) <@ circle '<(0,0),3>', point(3,1) <@ polygon '((0,0),(4,0),(4,3))', point(1,1) <@ line '{1,-1,0}', point(1,1) <@ lseg '[(0,0),(2,2)]', point(1,1) <@ path '[(0,0),(2,2)]', lseg '[(0,0),(2,2)]' <@ box '(0,0),(4,4)', lseg '[(0,0),(2,2)]' <@ line '{1,-1,0}', box '(1,1),(2,2)' <@ box '(0,0),(4,4)', circle '<(1,0),1>' <@ circle '<(0,0),3>';
SELECT box '(0,0),(2,2)' && box '(1,1),(3,3)', box '(0,0),(2,2)' && '(5,5),(6,6)', circle '<(0,0),3>' && circle '<(5,0),2>', polygon '((0,0),(4,0),(4,3))' && polygon '((1,1),(9,9),(1,9))', polygon '((0,0),(4,0),(4,3))' && polygon '((0,1),(0,9),(1,9))';
SELECT point(1,2) <@ '(1,2),(3,4)';
SELECT box '(1,2),(3,4)' @> '(1,2)';
SELECT polygon '((0,0),(9,0),(9,9),(5,1),(0,9))' @> polygon '((1,1),(8,1),(8,5))', polygon '((0,0),(9,0),(9,9),(5,4),(0,9))' @> polygon '((1,1),(8,1),(8,3))', polygon '((0,0),(9,0),(9,9),(0,9))' @> polygon '((0,0),(9,0),(9,9),(0,9))';

-- Where they lie.
SELECT point(1,2) << point(2,2), point(1,2) >> point(2,2), point(1,2) <<| point(1,3), point(1,2) |>> point(1,3), point(1,2) <^ point(1,3), point(1,2) >^ point(1,3), point(1,2) ?- point(5,2), point(1,2) ?| point(1,5);
SELECT b << '(5,5),(6,6)', b >> '(5,5),(6,6)', b &< '(1,1),(6,6)', b &> '(1,1),(6,6)', b <<| '(5,5),(6,6)', b |>> '(5,5),(6,6)', b &<| '(1,1),(6,6)', b |&> '(1,1),(6,6)', b <^ '(5,5),(6,6)', b >^ '(5,5),(6,6)' FROM (VALUES (box '(1,1),(2,2)')) v(b);
SELECT c << '<(9,9),1>', c >> '<(9,9),1>', c &< '<(9,9),1>', c &> '<(9,9),1>', c <<| '<(9,9),1>', c |>> '<(9,9),1>', c &<| '<(9,9),1>', c |&> '<(9,9),1>' FROM (VALUES (circle '<(1,1),2>')) v(c);
SELECT p << '((9,9),(8,9))', p >> '((9,9),(8,9))', p &< '((9,9),(8,9))', p &> '((9,9),(8,9))', p <<| '((9,9),(8,9))', p |>> '((9,9),(8,9))', p &<| '((9,9),(8,9))', p |&> '((9,9),(8,9))' FROM (VALUES (polygon '((1,1),(2,2))')) v(p);
SELECT ?- lseg '[(0,0),(2,0)]', ?| lseg '[(0,0),(0,2)]', ?- line '{0,1,2}', ?| line '{1,0,2}', lseg '[(0,0),(2,0)]' ?-| lseg '[(0,0),(0,2)]', lseg '[(0,0),(2,0)]' ?|| lseg '[(0,1),(3,1)]', line '{1,1,0}' ?-| line '{1,-1,0}', line '{1,1,0}' ?|| line '{1,1,5}', ishorizontal(point(1,2), point(5,2)), isvertical(lseg '[(0,0),(0,2)]'), isperp(line '{1,1,0}', line '{1,-1,0}'), isparallel(line '{1,1,0}', line '{1,1,5}');

-- What is the same, and what is compared.
SELECT point(1,2) ~= point(1.0000001,2), point(1,2) <> point(1,3), box '(0,0),(2,2)' ~= box '(2,2),(0,0)', box '(0,0),(2,2)' = box '(5,5),(6,9)', circle '<(0,0),3>' = circle '<(5,5),3>', circle '<(0,0),3>' ~= circle '<(5,5),3>', polygon '((0,0),(4,0),(4,3))' ~= polygon '((4,3),(0,0),(4,0))', polygon '((0,0),(4,0),(4,3))' ~= polygon '((4,3),(4,0),(0,0))', line '{1,1,2}' = line '{2,2,4}', lseg '[(0,0),(2,0)]' = lseg '[(2,0),(0,0)]', path '[(0,0),(2,0)]' = path '((5,5),(6,6))';
SELECT box '(0,0),(2,2)' < box '(0,0),(3,3)', lseg '[(0,0),(2,0)]' >= lseg '[(2,0),(0,0)]', path '[(0,0),(2,0)]' <= path '[(0,0)]', circle '<(0,0),3>' > circle '<(5,5),2>', circle '<(0,0),3>' <> circle '<(5,5),2>', lseg '[(0,0),(2,0)]' <> lseg '[(2,0),(0,0)]';
SELECT box '(1,2),(3,4)' IS DISTINCT FROM box '(1,2),(3,4)', box '(1,2),(3,4)' IS NOT DISTINCT FROM NULL, nullif(box '(1,2),(3,4)', '(1,2),(3,4)'), box '(1,2),(3,4)' IN ('(2,2),(4,4)', '(0,0),(1,1)'), circle '<(1,2),3>' NOT IN ('<(0,0),1>'), CASE circle '<(1,2),3>' WHEN '<(3,3),3>' THEN 'as large' END;
SELECT box '(0,0),(2,2)' IN (SELECT box '(5,5),(6,9)'), box '(0,0),(2,2)' IN (SELECT box '(5,5),(6,8)'), circle '<(0,0),3>' > ALL (SELECT circle '<(0,0),2>');
SELECT point(1,2) = point(1,2);
SELECT box '(1,2),(3,4)' NOT IN ('(0,0),(1,1)');
SELECT box '(1,2),(3,4)' <> box '(1,2),(3,4)';
SELECT point(1,2) < point(1,2);
SELECT polygon '((0,0))' = polygon '((0,0))';
SELECT point(1,2) IS DISTINCT FROM point(1,2);
SELECT nullif(point(1,2), '(1,2)');
SELECT CASE point(1,2) WHEN '(1,2)' THEN 1 END;
SELECT point(1,2) IN ('(1,2)', '(2,2)');
SELECT point(1,2) IN (SELECT point(1,2));
SELECT greatest(point(1,2), point(1,2));
SELECT ARRAY[point(1,2)] = ARRAY[point(1,2)];
SELECT ARRAY[point(1,2)] < ARRAY[point(1,2)];
SELECT array_position(ARRAY[point(1,2)], point(1,2));
SELECT ARRAY[box '(1,2),(3,4)'] @> ARRAY[box '(1,2),(3,4)'];
SELECT array_remove(ARRAY['{}'::json], '{}');
SELECT CASE WHEN true THEN point(1,2) ELSE box '(1,2),(3,4)' END;

-- Parts and arrays.
SELECT (point '(1,2)')[0], (point '(1,2)')[1], (point '(1,2)')[2], (point '(1,2)')[-1], (box '(1,2),(3,4)')[0], (lseg '[(1,2),(3,4)]')[1], (line '{1,2,3}')[2], (box '(1,2),(3,4)')[0][1], ((box '(1,2),(3,4)')[0])[1];
SELECT (circle '<(1,2),3>')[0];
SELECT (point '(1,2)')[0:1];
SELECT '{(1,2),(3,4);(1,1),(0,0)}'::box[], '{{(1,2),(3,4)};{(1,1),(0,0)}}'::box[], '{"(1,2)","(3,4)"}'::point[], ARRAY[box '(1,2),(3,4)', NULL], ARRAY[point(1,2), NULL], ARRAY[circle '<(1,2),3>'], '{"((1,2),(3,4))"}'::path[];
SELECT '{(1,2),(3,4)}'::point[];
SELECT '{(1,2),(3,4),(1,1),(0,0)}'::box[];

-- In tables.
CREATE TABLE places (id int PRIMARY KEY, at point DEFAULT '(0,0)', b box, way path, around polygon, c circle CHECK (area(c) < 1000), s lseg, l line, many point[]);
INSERT INTO places VALUES (1, '(1,2)', '(1,2),(3,4)', '[(1,2),(3,4)]', '((0,0),(4,0),(4,3))', '<(1,2),3>', '[(0,0),(2,0)]', '{1,1,0}', '{"(1,2)","(3,4)"}'), (2, point(5,6), box(point(0,0), point(9,9)), NULL, NULL, NULL, NULL, NULL, '{}'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO places (id) VALUES (4);
INSERT INTO places (id, c) VALUES (5, '<(0,0),100>');
INSERT INTO places (id, at) VALUES (5, 'x');
INSERT INTO places (id, at) VALUES (5, 1);
INSERT INTO places (id, b, around) VALUES (5, point(1,1), box '(1,2),(3,4)');
INSERT INTO places (id, c) VALUES (6, box '(1,2),(3,4)');
SELECT * FROM places ORDER BY id;
SELECT id, at <-> '(3,3)' AS far FROM places ORDER BY at <-> point(3,3), id;
SELECT id FROM places WHERE at <@ box '(0,0),(2,2)' ORDER BY id;
SELECT id FROM places WHERE b @> point(2,3) ORDER BY id;
SELECT a.id, b.id FROM places a JOIN places b ON a.b && b.b AND a.id < b.id ORDER BY 1, 2;
SELECT a.id, b.id FROM places a JOIN places b ON a.b = b.b ORDER BY 1, 2;
SELECT id FROM places WHERE b IN (SELECT b FROM places WHERE id = 1) ORDER BY 1;
SELECT array_agg(at ORDER BY id), count(at), array_agg(b ORDER BY id) FROM places;
UPDATE places SET at[0] = 7, b[1] = '(0,0)', s[1] = point(3,3), l[2] = 5 WHERE id = 1;
UPDATE places SET at[1] = NULL WHERE id = 2;
UPDATE places SET at[0] = 1 WHERE id = 3;
SELECT id, at, b, s, l, at[0] FROM places ORDER BY id;
UPDATE places SET at[2] = 7 WHERE id = 1;
UPDATE places SET at[0] = point(1,1) WHERE id = 1;
UPDATE places SET c[0] = 7 WHERE id = 1;
SELECT DISTINCT at FROM places;
SELECT DISTINCT b FROM places;
SELECT at FROM places ORDER BY at;
SELECT c FROM places ORDER BY c;
SELECT count(DISTINCT at) FROM places;
SELECT at FROM places GROUP BY at;
SELECT at FROM places UNION SELECT at FROM places;
SELECT max(at) FROM places;
WITH RECURSIVE r (p) AS (SELECT point(0,0) UNION SELECT p FROM r) SELECT p FROM r;
WITH RECURSIVE r (p, n) AS (SELECT point(0,0), 1 UNION ALL SELECT p + point(1,1), n + 1 FROM r WHERE n < 3) SELECT p FROM r;
SELECT row_number() OVER (PARTITION BY at) FROM places;
SELECT * FROM places a JOIN places b USING (at);
CREATE INDEX places_at ON places (at);
CREATE INDEX places_at ON places USING hash (at);
CREATE INDEX places_at ON places USING gin (at);
CREATE INDEX places_at ON places USING spgist (c);
CREATE INDEX places_at ON places USING brin (at);
CREATE INDEX places_x ON places ((at[0]));
SELECT id FROM places WHERE at[0] = 7;
CREATE TABLE other (p point PRIMARY KEY);
CREATE TABLE other (p point UNIQUE);
CREATE TABLE other (p point) PARTITION BY RANGE (p);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'places'::regclass;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'places'::regclass ORDER BY conname;
CREATE VIEW near AS SELECT id FROM places WHERE at <-> point '(1,2)' < 5 AND b = '(1,2),(3,4)' AND at <@ circle '<(0,0),9>';
SELECT pg_get_viewdef('near');
DROP VIEW near;
CREATE FUNCTION middle(a point, b point) RETURNS point LANGUAGE plpgsql AS $$ DECLARE m point := a + b; BEGIN m[0] := m[0] / 2; m[1] := m[1] / 2; RETURN m; END $$;
SELECT middle('(1,2)', point(3,4)), (middle(at, at))[0] FROM places WHERE id = 1;
DROP FUNCTION middle;
CREATE FUNCTION area(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
SELECT area(4), area(box '(1,2),(3,5)');
DROP FUNCTION area(int);
DROP TABLE places;

-- In the catalogue.
SELECT typname, typlen, typbyval, typcategory, typispreferred, typalign, typstorage, typdelim, typelem::regtype, typsubscript, typarray::regtype, typinput, typoutput, typreceive, typsend FROM pg_type WHERE typname IN ('point', 'lseg', 'line', 'box', 'path', 'polygon', 'circle', '_point', '_box', '_polygon') ORDER BY 1;
SELECT castsource::regtype::text, casttarget::regtype::text, castcontext, castmethod FROM pg_cast WHERE castsource IN (600, 601, 602, 603, 604, 628, 718) ORDER BY 1, 2;
SELECT point_in('(1,2)'), box_out('(1,2),(3,4)');
SET extra_float_digits = 0;
SELECT point(0.1, 1/3.0), circle(point(0.1, 2), 1/3.0);
RESET extra_float_digits;
