SELECT oidvectortypes('23 25 1007 2275'), oidvectortypes(''), oidvectortypes(NULL)
SELECT p.proname, oidvectortypes(p.proargtypes) FROM pg_proc p WHERE p.oid IN (870, 2803) ORDER BY 1
SELECT NULL::regoper, NULL::regoperator, 0::regoper, 0::regoperator, (NULL::oid[])[1]::regoper
SELECT 'no_such_operator'::regoper
SELECT jsonb_exists('{"a": 1}', 'a'), jsonb_exists_any('{"a": 1}', ARRAY['b', 'a']), jsonb_exists_all('{"a": 1}', ARRAY['b', 'a'])
SELECT s, hashtext(s), hashtextextended(s, 0), hashtextextended(s, -77) FROM unnest(ARRAY['', 'a', 'hello world', 'exactly12byt', 'exactly12bytes and much more text than that, öäü']) s
SELECT pg_database_size(current_database()) >= 0, pg_database_size((SELECT oid FROM pg_database WHERE datname = current_database())) >= 0, pg_database_size(99999::oid)
SELECT pg_database_size('no_such_database')
select pg_operator_is_visible(1), pg_opfamily_is_visible(1), pg_conversion_is_visible(1), pg_statistics_obj_is_visible(1);
