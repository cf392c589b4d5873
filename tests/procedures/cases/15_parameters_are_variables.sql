create procedure p(a int, b text, inout c int) language plpgsql as $$
declare
  first alias for $1;
  b2 alias for b;
begin
  a := a + 1;
  first := first + 1;
  b2 := b || '.';
  c := a + $3;
  raise notice '% % %', $1, $2, p.a;
end $$;
call p(1, 'x', 10);
create function f(int, text) returns text language plpgsql as $$
declare
  n alias for $1;
begin
  return n || $2;
end $$;
select f(1, 'x');
create function constant(a int) returns int language plpgsql as $$
declare
  b constant int := a;
begin
  b := 2;
  return b;
end $$;
