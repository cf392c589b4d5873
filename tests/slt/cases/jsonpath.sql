select '$'::jsonpath, 'strict $.a.*'::jsonpath, 'lax $[*]'::jsonpath, '$/*c*/.a'::jsonpath, '1..type()'::jsonpath, '- $.a + - 1 - +1 * -$[*].b'::jsonpath, '1.e5'::jsonpath, '.5e-3'::jsonpath
select '($.a == 1 && $.b == 2) || $.c == 1 && !(exists($.a)) && ($ == 2) is unknown'::jsonpath, '$.**{3 to 1}.**{last}.**{1 to last}.**{last to 2}.**'::jsonpath, '$foo.TYPE.type() ? (@ > $"b c" && @ like_regex "^a" flag "xqsim")'::jsonpath
select '$.datetime("aa")."\u0041".keyvalue()[0, 1 to last - 1]'::jsonpath, '"\u{1F600}\v\x41\q"'::jsonpath, '$.a ? (@ starts with "x")'::jsonpath, '1 .type()'::jsonpath, '-(1).abs()'::jsonpath
select ''::jsonpath
select 'strict'::jsonpath
select '$.a/*c*/.b'::jsonpath
select '$.a /*c'::jsonpath
select '"abc'::jsonpath
select '"\'::jsonpath
select '"\u12"'::jsonpath
select '"\xz"'::jsonpath
select '"\u0000"'::jsonpath
select '"\ud800"'::jsonpath
select '"\ud83d\ud83d"'::jsonpath
select '"a" "b"'::jsonpath
select '$ foo.b'::jsonpath
select '1e+'::jsonpath
select '01'::jsonpath
select '01ab'::jsonpath
select '1a'::jsonpath
select '@'::jsonpath
select '$[last] + last'::jsonpath
select '$ ? ($.a)'::jsonpath
select '$ ? (1 == 1 == 1)'::jsonpath
select '($ == 1) + 1'::jsonpath
select '$.a && 1 == 1'::jsonpath
select '$.**{2147483648}'::jsonpath
select '$ ? (@ like_regex "a" flag "x")'::jsonpath
select '$ ? (@ like_regex "a" flag "ax")'::jsonpath
select pg_typeof('$.a'::jsonpath), array['$.a'::jsonpath, '$'], '$.a'::jsonpath::text, ('$.'||'b')::text::jsonpath
select '$'::jsonpath = '$'::jsonpath
select jsonb_path_query('{"a": [1, 2, {"b": 3}]}', '$.a[*]')
select jsonb_path_query('{"a": [1, 2, {"b": 3}]}', '$.**')
select jsonb_path_query('[1, [2, [3]]]', 'strict $[1 to last]')
select jsonb_path_query_array('[{"a": 1}, {"a": [2, 3]}, {"b": 4}]', '$.a'), jsonb_path_query_array('[{"a": 1}, {"a": [2, 3]}, {"b": 4}]', '$[*].a[*]'), jsonb_path_query_array('[1, 2, 3]', '$[*] ? (@ >= $x)', '{"x": 2}'), jsonb_path_query_first('[1, 2]', '$[*] ? (@ > 1)'), jsonb_path_query_first('[]', '$[*]')
select jsonb_path_exists('{"a": 1}', '$.b'), jsonb_path_exists('{"a": 1}', 'strict $.a'), jsonb_path_exists('{"a": 1}', 'strict $.b', silent => true), jsonb_path_exists('{"a": 1}', '$ ? (@.a == $x)', vars => '{"x": 1}'), jsonb_path_match('{"a": 1}', '$.a == 1'), jsonb_path_match('{"a": 1}', '$.a', silent => true)
select jsonb_path_exists('{"a": 1}', 'strict $.b')
select jsonb_path_match('{"a": 1}', '$.a')
select jsonb_path_query('[1]', 'strict $[1]', silent => true)
select jsonb_path_query('[1]', 'strict $[1]')
select jsonb_path_query('[1]', 'strict $["a"]')
select jsonb_path_query('1', 'strict $.a')
select jsonb_path_query('1', 'strict $.*')
select jsonb_path_query('1', 'strict $[*]')
select jsonb_path_query('1', 'strict $[0]')
select jsonb_path_query('[1, 2]', '$ + 1')
select jsonb_path_query('1', '$ / 0')
select jsonb_path_query('"a"', '-$')
select jsonb_path_query('"a"', '$.abs()')
select jsonb_path_query('"a"', '$.double()')
select jsonb_path_query('1', '$.keyvalue()')
select jsonb_path_query('1', '$.datetime()')
select jsonb_path_query('"1"', '$.datetime()')
select jsonb_path_query('1', '$x', '{"y": 1}')
select jsonb_path_query('1', '$', '[]')
select jsonb_path_query('1', '$', nothing => true)
select * from jsonb_path_query('{"a": [1, 2]}', '$.a[*]') with ordinality as f(x, n)
select x, y from (values ('[1, 2]'::jsonb), ('[3]')) t(x), jsonb_path_query(x, '$[*] ? (@ > 1)') y
select '[1, 2]'::jsonb @? '$[*] ? (@ > 1)', '[1, 2]'::jsonb @@ '$[*] > 1', '[1, 2]'::jsonb @? 'strict $.a', '{"a": 1}'::jsonb @@ '$.a', '1'::jsonb @? '$x', '1'::jsonb @@ '$x == null'
select jsonb_path_query_array('{"a": {"c": 1}, "b": [1.50, "x", {"d": null}], "e": {"f": {}}}', '$.*.keyvalue()'), jsonb_path_query_array('[{"a": 1}, {"b": "xyz", "c": 123456789.125}, {"d": {}}]', '$[*].keyvalue().id'), jsonb_path_query_array('{"a": {"b": {"c": 1}}}', '$.keyvalue().value.keyvalue()')
select jsonb_path_query_array('[1, "a", null, true, [1], {}]', 'strict $[*].type()'), jsonb_path_query_array('[1, [1, 2], {}]', 'lax $[*].size()'), jsonb_path_query_array('[1.5, -1.5, 2]', '$[*].floor()'), jsonb_path_query_array('[1.5, -1.5]', '$[*].ceiling()'), jsonb_path_query_array('[1.5, -1.5]', '$[*].abs()'), jsonb_path_query_array('["1.5", 2, " 7 "]', '$[*].double()')
select jsonb_path_query_array('["2020-01-01", "12:34:56", "12:34:56.789+3", "2020-01-01T11:22:33.123", "2020-01-01 11:22:33+02:30"]', '$[*].datetime()'), jsonb_path_query_array('["2020-01-01", "12:34:56", "12:34:56.789+3", "2020-01-01T11:22:33.123", "2020-01-01 11:22:33+02:30"]', '$[*].datetime().type()')
select jsonb_path_query('"10-03-2017 12:34 +05:20"', '$.datetime("dd-mm-yyyy HH24:MI TZH:TZM")'), jsonb_path_query('"2017-03"', '$.datetime("yyyy-mm")')
select jsonb_path_query('"12:34 x"', '$.datetime("HH24:MI")')
select jsonb_path_query('"12:"', '$.datetime("HH24:MI")')
select jsonb_path_query('"12.34"', '$.datetime("HH24:MI")')
select jsonb_path_query('"12"', '$.datetime("a")')
select jsonb_path_query('"10-03-2017t12:34:56"', '$.datetime("dd-mm-yyyy\"T\"HH24:MI:SS")')
select jsonb_path_query('"2017-03-10t12:34:56+3:10"', '$.datetime()')
select jsonb_path_query('"10-03-2017T12:34:56"', '$.datetime("dd-mm-yyyy\"T\"HH24:MI:SS")')
select jsonb_path_exists('[{"a": 1}]', '$undefined_var')
select jsonb_path_query('"12:34"', '$.datetime("HH24:MI TZH")')
select jsonb_path_query('["2020-01-01", "2020-01-01T00:00:00"]', '$[*].datetime() ? (@ == "2020-01-01".datetime())')
select jsonb_path_query('"2020-01-01T00:00:00+01"', '$.datetime() < "2020-01-01".datetime()')
select jsonb_path_query_array_tz('["2020-01-01T00:00:00+01", "2019-12-31", "10:00:00"]', '$[*].datetime() ? (@ <= "2020-01-01".datetime())')
select jsonb_path_query_array('["abc", "ABC", "a\nb", 1]', '$[*] ? (@ like_regex "^B" flag "im")'), jsonb_path_query_array('["abc", "abd", 1]', '$[*] ? (@ starts with "ab")'), jsonb_path_query_array('["a\nb", "a.b"]', '$[*] ? (@ like_regex "a.b")'), jsonb_path_query_array('["a\nb", "a.b"]', '$[*] ? (@ like_regex "a.b" flag "q")')
select jsonb_path_query_array('[1, "a", null]', '$[*] ? ((@ > 0) is unknown)'), jsonb_path_query_array('[1, "a", null]', '$[*] ? (!(@ == 1))'), jsonb_path_query_array('[1, 2]', '$[*] == 2'), jsonb_path_query_array('[{"a": [1]}, {"a": 2}, 3]', 'strict $[*] ? (exists (@.a[*]))')
select jsonb_path_query('1', 'exists ((($ - 1).a))')
select count(*) from jsonb_path_query('[[[[1]]]]', '$.**.**.**')
create table jsonpath_kept (n int primary key, p jsonpath not null, d jsonb)
insert into jsonpath_kept values (1, '$.a', '{"a": 1}'), (2, 'strict $.a[*] ? (@ > 1)', '{"a": [1, 2]}'), (3, '$.b', null)
insert into jsonpath_kept values (4, '$.', '{}')
select n, p, jsonb_path_query_array(d, p) from jsonpath_kept order by n
select n from jsonpath_kept where d @? p order by n
create table jsonpath_lists (n int primary key, q jsonpath[])
insert into jsonpath_lists values (1, array['$'::jsonpath, 'strict $.b']), (2, null), (3, '{}')
select n, q, q[2], jsonb_path_query_array('{"b": 1}', q[2]) from jsonpath_lists order by n
drop table jsonpath_lists
select column_name, data_type, udt_name from information_schema.columns where table_name = 'jsonpath_kept' order by ordinal_position
select typname, typinput, typoutput, typreceive, typsend, typcategory, typarray from pg_type where typname in ('jsonpath', '_jsonpath') order by oid
drop table jsonpath_kept
