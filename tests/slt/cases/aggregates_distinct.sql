CREATE TABLE fruit (id int PRIMARY KEY, name text, kind varchar(10), price numeric(6,2), ripe bool)
INSERT INTO fruit VALUES (1, 'pear', 'a', 3.10, true), (2, 'apple', 'b', 2.00, false), (3, 'pear', 'a', 2.00, NULL), (4, 'fig', NULL, 7.5, true), (5, NULL, 'b', 3.1, true)
SELECT string_agg(DISTINCT name, ',' ORDER BY name) FROM fruit
SELECT string_agg(DISTINCT name, ',' ORDER BY name DESC) FROM fruit
SELECT string_agg(DISTINCT kind, ',' ORDER BY kind) FROM fruit
SELECT array_agg(DISTINCT price ORDER BY price DESC NULLS LAST) FROM fruit
SELECT array_agg(DISTINCT name ORDER BY name NULLS FIRST) FROM fruit
SELECT count(DISTINCT price ORDER BY price) FROM fruit
SELECT array_agg(DISTINCT price * 2 ORDER BY price * 2) FROM fruit
SELECT json_agg(DISTINCT id % 2 ORDER BY id % 2) FROM fruit
SELECT ripe, array_agg(DISTINCT lower(name) ORDER BY lower(name)) FROM fruit GROUP BY ripe ORDER BY ripe
SELECT string_agg(DISTINCT name, ',' ORDER BY id) FROM fruit
SELECT string_agg(DISTINCT name, ',' ORDER BY name, id) FROM fruit
SELECT array_agg(DISTINCT price ORDER BY price * 2) FROM fruit
SELECT array_agg(DISTINCT price ORDER BY 1) FROM fruit
SELECT count(DISTINCT name ORDER BY kind) FROM fruit
SELECT ripe, array_agg(DISTINCT name ORDER BY upper(name)) FROM fruit GROUP BY ripe
SELECT array_agg(DISTINCT id ORDER BY id) FILTER (WHERE price > 2) FROM fruit
SELECT array_agg(id ORDER BY name, id) FROM fruit
SELECT jsonb_object_agg(DISTINCT name, price ORDER BY name, price) FROM fruit WHERE name <> 'pear'
SELECT jsonb_agg(DISTINCT name ORDER BY price) FROM fruit
SELECT string_agg(DISTINCT name, name ORDER BY name) FROM fruit
SELECT sum(DISTINCT price ORDER BY price) FROM fruit
SELECT avg(DISTINCT id::numeric ORDER BY id) FROM fruit
DROP TABLE fruit
