create procedure wide(a bigint, b numeric, c float8, d timestamp, e text) language plpgsql as $$
begin
  raise notice '% % % % %', a, b, c, d, e;
end $$;
call wide(1, 2, 3, '2026-01-02'::date, 'x'::varchar(5));
call wide(1::smallint, 2::bigint, 3::numeric, '2026-01-02', 'x'::char(3));
call wide(1.5, 2, 3, '2026-01-02', 'x');
call wide(1, 2.5::float8, 3, '2026-01-02', 'x');
call wide(1, 2, 3, '2026-01-02', 5);
create function narrow(a smallint, b int) returns int language plpgsql as $$ begin return a + b; end $$;
select narrow('1', '2'), narrow(1::smallint, 2::smallint);
select narrow(1, 2);
select narrow(1::smallint, 2::bigint);
create function of_array(a bigint[]) returns bigint language plpgsql as $$ begin return a[1]; end $$;
select of_array('{5}'), of_array(array[1, 2]), of_array(array[1, 10000000000]);
select of_array(array['1']);
select of_array(array[1.5]);
