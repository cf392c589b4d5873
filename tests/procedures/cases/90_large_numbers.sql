create procedure p(a bigint, b numeric, c float8, d smallint, inout e numeric) language plpgsql as $$
begin
  raise notice '% % % %', a + 1, b * b, c / 3, d;
  e := e / 3;
  raise notice '%', e;
  e := round(e, 2) + trunc(b);
  raise notice '% % %', mod(a, 7), a / 7, abs(-a);
  raise notice '% %', 7 / 2, 7 / 2.0;
  raise notice '% %', (-7) / 2, (-7) % 2;
  raise notice '%', power(2, 10);
end $$;
call p(9007199254740993, 12345678901234567890.123456789, 1, 7::smallint, 10);
call p(9223372036854775807, 1, 1, 7::smallint, 10);
call p(1, 1e20, 'NaN', 7::smallint, 'NaN');
create function cents(a numeric(12,2), rate numeric(4,4)) returns numeric(12,2) language plpgsql as $$
declare
  r numeric(12,2);
begin
  r := a * (1 + rate);
  return r;
end $$;
select cents(10.01, 0.0825), cents(0.005, 0), cents(-10.005, 0.5);
