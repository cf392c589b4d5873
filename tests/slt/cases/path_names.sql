-- A comma between double quotes is part of a schema's name.
CREATE SCHEMA "commas, inside";
CREATE SCHEMA behind_it;
CREATE TABLE "commas, inside".t (a int);
SET search_path TO "commas, inside", behind_it;
SHOW search_path;
SELECT current_schema();
SELECT current_schemas(false);
SELECT count(*) FROM t;
SELECT set_config('search_path', '"commas, inside" ,Behind_It', false);
SELECT current_schemas(false);
SELECT set_config('search_path', 'behind_it,"commas, inside"', false);
SELECT current_schema();
RESET search_path;
DROP SCHEMA "commas, inside" CASCADE;
DROP SCHEMA behind_it;
