-- What money reads and how it prints.
SELECT ''::money, '$'::money, '.'::money, '1.005'::money, '1.004'::money, '($1,234.5)'::money, '-$1'::money, '$-1'::money, '1-'::money, '1$'::money, '1 )'::money;
SELECT '1,,2'::money, '.5'::money, ',1'::money, '1.2,3'::money, '1.23,7'::money, ' + 1 '::money, '$ - $ 5'::money, '(1'::money, '- 1'::money, '-1.995'::money, '1-$+ )'::money;
SELECT '92233720368547758.07'::money, '-92233720368547758.08'::money, '92233720368547758.074'::money, money '1.5';
SELECT '--1'::money;
SELECT '1e5'::money;
SELECT '1.2.3'::money;
SELECT '(-1)'::money;
SELECT '1 2'::money;
SELECT '1.235,'::money;
SELECT '92233720368547758.08'::money;
SELECT '-92233720368547758.085'::money;
SELECT '1'::money(5);

-- Arithmetic.
SELECT '1.10'::money + '2.25', '1'::money - '2.50', '1.50'::money * 3, 3 * '1.50'::money, '1.50'::money * 3::smallint, 3::bigint * '1.50'::money;
SELECT '1'::money / 3, '-2'::money / 3, '2'::money / 3::bigint, '2'::money / 3::smallint, '2'::money / 3::float8, '2'::money / 3::real, '2'::money / 3.0, 3.1 * '2'::money;
SELECT '0.05'::money * 0.5, '0.15'::money * 0.5, '123456.78'::money * 1.1::real, '123456.78'::money / 1.1::real, 2::real * '1'::money, '1'::money * '2';
SELECT '1'::money / '3'::money, pg_typeof('1'::money / '3'), pg_typeof('1'::money * 2);
SELECT '92233720368547758.07'::money + '0.01';
SELECT '-92233720368547758.08'::money - '0.01';
SELECT '92233720368547758.07'::money * 2;
SELECT '-92233720368547758.08'::money * -1;
SELECT '92233720368547758.07'::money * 2::float8;
SELECT '1'::money * 'NaN'::float8;
SELECT '1'::money / 0;
SELECT '1'::money / 0::float8;
SELECT '1'::money / '0'::money;
SELECT -'1'::money;
SELECT '1'::money + 1;
SELECT '1'::money % 2;
SELECT abs('1'::money);
SELECT round('1.5'::money);

-- Conversions.
SELECT 1::money, 1.005::money, (-7.125)::money, 1::bigint::money, '1.5'::money::numeric, '1.57'::money::numeric(10,1), '1.5'::text::money, '1.5'::money::varchar(3), money(5), money(5.5), money('5');
SELECT 1.5::float8::money;
SELECT 1::smallint::money;
SELECT '1.5'::money::int;
SELECT '1.5'::money::float8;
SELECT 92233720368547758.08::money;
SELECT 9223372036854775807::money;
SELECT 'NaN'::numeric::money;
SELECT ('"$1.5"'::jsonb)::money;

-- Comparisons.
SELECT '1'::money = '1.00', '1'::money > '0.99', '1'::money <> '1', '1'::money IN ('1', '2'), '1'::money = ANY ('{1,2}'), '1'::money BETWEEN '0' AND '2', '1'::money IS DISTINCT FROM NULL;
SELECT greatest('1'::money, '2'), least('1'::money, '2'), coalesce(NULL, '1'::money), nullif('1'::money, '1'), CASE '1'::money WHEN '1.0' THEN 'one' END;
SELECT '1'::money = 1;
SELECT '1'::money = 1.0;
SELECT CASE WHEN true THEN '1'::money ELSE 2 END;
SELECT '1'::money UNION SELECT 2;

-- As texts, in arrays, rows and documents.
SELECT to_json('1234.5'::money), to_jsonb(ARRAY['1'::money, '2000']), ARRAY['1'::money, '2000'], ROW('1'::money, '3000'::money), '{$1,"$2,000.00",-3}'::money[];
SELECT '1'::money || 'x', format('%s', '1'::money), quote_literal('1'::money), concat('1'::money, 2), jsonb_build_object('a', '1'::money);
SELECT cash_words('1234567.89'), cash_words('-0.01'), cash_words('0'), cash_words('1'), cash_words('2.01'), cash_words('1000'), cash_words('100100'), cash_words('119.19'), cash_words('120'), cash_words('1000000000000000'), cash_words('-92233720368547758.08');

-- In a table.
CREATE TABLE prices (id int PRIMARY KEY, price money NOT NULL DEFAULT '9.99', was money[], CHECK (price >= '0'));
INSERT INTO prices VALUES (1, '10', '{1,2.5}'), (2, 2.5, NULL), (3, 7, '{NULL,$3}'), (4, '10.00', '{}');
INSERT INTO prices (id) VALUES (5);
INSERT INTO prices VALUES (6, '-1');
INSERT INTO prices VALUES (6, 1.5::float8);
INSERT INTO prices VALUES (6, 'x');
SELECT * FROM prices ORDER BY price DESC, id;
SELECT price, count(*) FROM prices GROUP BY price ORDER BY price;
SELECT DISTINCT price FROM prices ORDER BY 1;
SELECT sum(price), min(price), max(price), count(DISTINCT price), sum(price) FILTER (WHERE id > 9), array_agg(price ORDER BY id) FROM prices;
SELECT avg(price) FROM prices;
SELECT stddev(price) FROM prices;
SELECT id, sum(price) OVER (ORDER BY id), sum(price) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), lag(price) OVER (ORDER BY id) FROM prices ORDER BY id;
SELECT sum(price) FROM (VALUES ('92233720368547758.07'::money), ('0.01')) v(price);
CREATE INDEX prices_price ON prices (price);
SELECT id FROM prices WHERE price = '10' ORDER BY id;
SELECT id FROM prices WHERE price > '2.5' AND price < '10' ORDER BY id;
CREATE UNIQUE INDEX prices_unique ON prices (price);
UPDATE prices SET price = price * 1.1, was = was || price WHERE id = 1;
SELECT * FROM prices WHERE id = 1;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'prices'::regclass;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'prices'::regclass ORDER BY conname;
ALTER TABLE prices ALTER COLUMN price DROP DEFAULT, DROP CONSTRAINT prices_price_check;
ALTER TABLE prices ALTER COLUMN price TYPE numeric(10,2);
SELECT id, price FROM prices ORDER BY id;
ALTER TABLE prices ALTER COLUMN price TYPE money;
SELECT id, price FROM prices ORDER BY id;
CREATE TABLE by_hash (m money) PARTITION BY HASH (m);
CREATE INDEX prices_brin ON prices USING brin (price);
CREATE INDEX prices_hash ON prices USING hash (price);
SELECT data_type, udt_name, numeric_precision FROM information_schema.columns WHERE table_name = 'prices' AND column_name IN ('price', 'was') ORDER BY 2;
CREATE DOMAIN dues AS money CHECK (VALUE > '1');
SELECT '2'::dues;
SELECT '1'::dues;
DROP DOMAIN dues;
CREATE FUNCTION with_tax(amount money) RETURNS money LANGUAGE plpgsql AS $$ DECLARE tax money := 0; BEGIN tax := amount * 0.2; RETURN amount + tax; END $$;
SELECT with_tax('10'), with_tax(id::money) FROM prices WHERE id = 1;
DROP FUNCTION with_tax;
DROP TABLE prices;

-- In the catalogue.
SELECT typname, typlen, typbyval, typcategory, typispreferred, typalign, typstorage, typelem::regtype, typarray::regtype, typinput, typoutput, typreceive, typsend FROM pg_type WHERE oid IN ('money'::regtype, 'money[]'::regtype) ORDER BY 1;
SELECT castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod FROM pg_cast WHERE 'money'::regtype IN (castsource, casttarget) ORDER BY 1, 2;
SELECT opcname, opcdefault FROM pg_opclass WHERE opcintype = 'money'::regtype;
SELECT cash_in('1.5'), cash_out('1.5');
