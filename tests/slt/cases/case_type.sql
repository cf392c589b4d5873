select pg_typeof(case when true then 'a'::varchar else 'b'::text end), pg_typeof(case when true then 'a'::text else 'b'::varchar end);
select case when true then 1 else true end;
select pg_typeof(case 1 when 1 then 'a'::varchar end), pg_typeof(case when true then 1 when false then 2::numeric else 3::bigint end);
select pg_typeof(case when true then 'a'::name else 'b'::varchar end), pg_typeof(case when true then 'a'::char(2) else 'b'::varchar end), pg_typeof(case when true then 'a'::varchar else 'b'::char(2) end);
select case when false then '1'::text else 'x '::char(3) end || '|', case when true then 'x '::char(3) else '1'::text end || '|';
select case when true then '2020-01-01'::date else now() end = '2020-01-01'::date;
