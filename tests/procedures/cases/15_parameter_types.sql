create procedure p(a boolean, b smallint, c bigint, d numeric, e float8, f text, g varchar, h date, i timestamp, j uuid, k bytea)
language plpgsql as $$
begin
  raise notice '% % % % % % % % % % %', a, b, c, d, e, f, g, h, i, j, k;
end $$;
call p(true, 1::smallint, 2, 3, 4, 'five', 'six', '2026-01-02', '2026-01-02 03:04:05.5', '12345678-1234-5678-1234-567812345678', '\x00ff');
call p('f', '1', '2', '3.50', '4.5', '5', '6', 'January 3, 2026', '2026-01-02', '12345678123456781234567812345678', 'abc');
call p(null, null, null, null, null, null, null, null, null, null, null);
call p(true, 1, 2, 3, 4, '5', '6', '2026-01-02', '2026-01-02', null, null);
call p('maybe', '1', '2', '3', '4', '5', '6', null, null, null, null);
create function widths(a varchar(3), b numeric(4,1), c char(2)) returns text language plpgsql as $$
begin
  return a || ',' || b || ',' || c || ',';
end $$;
select widths('longer', 1.25, 'longer');
create function result_width() returns varchar(3) language plpgsql as $$ begin return 'longer'; end $$;
select result_width();
create function truth(a boolean) returns boolean language plpgsql as $$ begin return not a; end $$;
select truth(true), truth(null), truth('no');
create function later(a timestamp, days int) returns date language plpgsql as $$ begin return a::date + days; end $$;
select later('2026-02-27 23:00', 2);
