select 'abc' like 'a%', 'abc' like 'a_c', 'a%c' like 'a\%c', 'a%c' like 'a#%c' escape '#', 'ABC' ilike 'a%', 'abc' not like 'b%', 'abc' similar to '(a|x)%', 'abc' similar to 'ab', 'abc' not similar to '%c', 'a.c' similar to 'a.c', 'abc' similar to 'a.c', 'aab' similar to 'a{2}b', 'x' similar to '[a-z]'
select 'abc' ~ 'b', 'abc' ~ '^b', 'ABC' ~* 'b', 'abc' !~ 'x', 'abc' !~* 'B', 'a1' ~ '^[a-z][0-9]$', 'foo' ~ '(foo|bar)'
select regexp_replace('foobar', 'o', 'x'), regexp_replace('foobar', 'o', 'x', 'g'), regexp_replace('foobar', '(o+)', '<\1>'), regexp_replace('Foobar', 'f', 'x', 'i'), regexp_replace('abcabc', 'b', 'X', 3), regexp_replace('abcabcabc', 'b', 'X', 1, 2), regexp_replace('a.b', '.', '-', 'gq')
select regexp_match('foobarbequebaz', 'bar.*que'), regexp_match('foobar', '(o+)(b)'), regexp_match('abc', 'x'), regexp_match('ABC', 'b', 'i')
select regexp_match('abc', 'b', 'g')
select regexp_split_to_array('hello world  foo', '\s+'), regexp_split_to_array('abc', ''), regexp_split_to_array(',a,b,', ','), regexp_split_to_array('aXbxc', 'x', 'i')
select regexp_count('abcabc', 'b'), regexp_count('ABCABC', 'b', 1, 'i'), regexp_substr('foobar', 'o+'), regexp_substr('a1b2c3', '[0-9]', 1, 2), regexp_like('Abc', 'a', 'i'), regexp_like('Abc', 'a')
select regexp_replace('abc', 'b', 'x', 'z')
select 'abc' ~ '('
select substring('foobar' from 'o(.)b'), substring('foobar' from 2 for 3), substring('foobar' from 4), substring('foobar' from 'x'), substr('foobar', -1, 4)
select split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a,b', ',', 5), left('abcde', 2), left('abcde', -2), right('abcde', 2), right('abcde', -2)
select split_part('a', ',', 0)
select lpad('a', 3), lpad('a', 3, 'xy'), lpad('abcd', 2), rpad('a', 3, 'xy'), rpad('abc', 2), ltrim('  a '), rtrim(' a  '), trim(both 'x' from 'xxaxx'), btrim('xyax', 'xy'), trim(leading from '  a'), trim(trailing 'a' from 'baa')
select translate('12345', '143', 'ax'), reverse('abc'), repeat('ab', 3), repeat('a', -1), initcap('hello wORLD foo-bar'), strpos('abc', 'c'), position('b' in 'abc'), overlay('abcdef' placing 'XX' from 3 for 2), overlay('abcdef' placing 'XX' from 3)
select ascii('a'), ascii(''), chr(97), chr(8364), md5('abc'), encode('abc'::bytea, 'hex'), encode('abc'::bytea, 'base64'), encode('a\001'::bytea, 'escape'), decode('616263', 'hex'), decode('YWJj', 'base64')
select chr(0)
select decode('zz', 'hex')
select quote_ident('a b'), quote_ident('abc'), quote_ident('select'), quote_literal('a''b'), quote_literal('a\b'), quote_nullable(null), quote_literal(1), quote_nullable(5)
select concat('a', null, 1, true), concat_ws(',', 'a', null, 'b'), concat_ws(null, 'a', 'b'), format('%s %I %L %%', 'a', 'b c', 'd''e'), format('%2$s %1$s', 'a', 'b'), format('%-5s|%5s', 'a', 'b'), format('%s', null)
select format('%q', 1)
select to_hex(255), to_hex(-1), to_hex(255::bigint), sha256('abc'::bytea), sha224('abc'::bytea), length(sha512('abc'::bytea)), encode(sha384(''), 'hex')
select length('äbc'), char_length('äbc'), octet_length('äbc'), bit_length('ab'), upper('äbc'), lower('ÄBC'), length('ab  '::char(5)), octet_length('ab'::char(5))
select 'a' || 'b', 'a' || 1, 1 || 'a', 'a' || null, 'a'::char(3) || 'b', '\x01'::bytea || '\x02'::bytea
select starts_with('abc', 'ab'), 'abc' ^@ 'b', replace('abcabc', 'b', 'x'), replace('abc', '', 'x')
select convert_to('ä', 'UTF8'), convert_from('\xc3a4', 'UTF8'), get_byte('\x0102', 1), set_byte('\x0102', 1, 5), num_nulls(1, null, 2), num_nonnulls(1, null, 2)
select 'b' > 'a', 'B' > 'a', 'ab' < 'b', 'a' = 'a ', 'a'::char(3) = 'a', 'a' collate "C" < 'b', greatest('a', 'b', null), least(3, 1, 2)
select round(2.5), round(-2.5), round(2.567, 2), round(1234.5, -2), round(2.5::float8), trunc(2.7), trunc(-2.789, 1), ceil(2.1), floor(-2.1), ceiling(2.0::float8), round(0.5::float8), round(1.5::float8)
select power(2, 10), power(2.0, 0.5), power(2, -1), 2 ^ 3, sqrt(2), sqrt(2.0), exp(1), exp(1.0), ln(2), ln(2.0), log(100), log(2.0, 8.0), log10(1000)
select sqrt(-1)
select ln(0)
select power(0, -1)
select mod(7, 3), mod(-7, 3), mod(7.5, 2), 7 % -3, div(7.5, 2), div(-7, 2), abs(-5), abs(-5.5), sign(-3), sign(0.0), sign(2.5::float8), gcd(12, 18), lcm(4, 6), gcd(1.5, 0.5), lcm(1.5, 0.5)
select 7 / 2, -7 / 2, 7.0 / 2, 7 / 2.0::float8, 1 / 3.0, 10 / 3.0, 2.0 / 3, 1e10 / 3
select 1 / 0
select 1.0 / 0
select 1::float8 / 0
select mod(1, 0)
select width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5, 0, 10, 5), width_bucket(-1, 0, 10, 5), width_bucket(10, 0, 10, 5), width_bucket(3, 10, 0, 5), width_bucket(now() , array[now()]), width_bucket(2.5::float8, 0, 10, 4)
select width_bucket(1, 0, 10, 0)
select min_scale(1.500), scale(1.500), trim_scale(1.500), factorial(20), factorial(0), degrees(pi()), radians(180), sin(0), cos(0), tan(0), atan2(1, 1), asin(1), acos(1), cot(1), sinh(1), cosh(1), tanh(1), asinh(1), acosh(2), atanh(0.5)
select acos(2)
select 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 256 >> 2, @ -5, |/ 25, -(-5), +5
select 2147483647 + 1
select 9223372036854775807 + 1
select (-2147483648)::int / -1
select 32767::smallint + 1::smallint
select 1e308::float8 * 10
select 'NaN'::float8 = 'NaN'::float8, 'NaN'::numeric > 1, 'Infinity'::float8, '-Infinity'::numeric, 0.1::float8 + 0.2::float8, 1e20::float8, 1e15::float8, 1e-5::float8, 123456789.123::float4, 1.0::float8
select 1::bool, 0::bool, 't'::bool, 'yes'::bool, true::int, true::text, 'x'::bool
select '12'::int, ' 12 '::int, '1e2'::numeric, '1.5'::float8, 1.5::int, 2.5::int, -1.5::int, 2.5::float8::int, 3.5::float8::int, '5'::numeric(3,1), 123.456::numeric(5,2)
select 'abc'::int
select '1.5'::int
select 99999999999::int
select 123.456::numeric(4,2)
select 'abcdef'::varchar(3), 'ab'::char(4), 'abc'::name, 'abc'::"char", 1::text, 1.50::text, null::text
select nullif(1, 1), nullif(1, 2), coalesce(null, 2), case 1 when 1 then 'a' else 'b' end, case when false then 1 end
select null = null, null is null, null is distinct from 1, 1 is not distinct from 1, true and null, false and null, true or null, not null::bool
select 1 between 0 and 2, 1 not between symmetric 2 and 0, 1 in (1, 2), 3 not in (1, null), (1, 2) = (1, 2), (1, 2) < (1, 3), (1, null) = (1, 2), row(1, 2) is null
select gen_random_uuid() is not null, '550e8400-e29b-41d4-a716-446655440000'::uuid, 'x'::uuid
select '550E8400E29B41D4A716446655440000'::uuid = '550e8400-e29b-41d4-a716-446655440000'
select random() between 0 and 1, pi(), current_user is not null, version() is not null
select greatest(1, 2.5), least('a', null), greatest(null, null)
select extract(year from date '2024-02-29'), extract(dow from date '2024-02-29'), extract(doy from timestamp '2024-12-31'), extract(epoch from timestamp '1970-01-02'), extract(week from date '2024-12-30'), extract(isoyear from date '2024-12-30'), extract(century from date '2001-01-01'), date_part('minute', timestamp '2024-01-01 10:20')
select date_trunc('month', timestamp '2024-02-15 10:00'), date_trunc('week', date '2024-02-15'), date_trunc('quarter', timestamp '2024-05-15'), date_trunc('decade', timestamp '2024-05-15')
select date '2024-02-29' + 1, date '2024-03-01' - date '2024-02-01', date '2024-02-29' - 1, '2024-02-30'::date
select timestamp '2024-01-01 12:00' at time zone 'Europe/Berlin', timestamptz '2024-07-01 12:00+00' at time zone 'America/New_York', timestamptz '2024-01-01 12:00+05:30'
select 'infinity'::date, '-infinity'::timestamp, 'epoch'::timestamp, isfinite(date 'infinity'), to_timestamp(1700000000), to_timestamp(1.5)
select timestamp '2024-01-01' < timestamptz '2024-01-02', date '2024-01-01' = timestamp '2024-01-01', timestamp '2024-01-01 10:00:00.5'::timestamp(0), timestamp '2024-01-01 23:59'::date
