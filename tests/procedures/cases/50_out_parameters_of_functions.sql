create function divide(a int, b int, out quotient int, out remainder int) language plpgsql as $$
begin
  quotient := a / b;
  remainder := a % b;
end $$;
select * from divide(17, 5);
select quotient from divide(17, 5);
select d.remainder * 2 as x from divide(17, 5) d;
create function single(a int, out doubled int) language plpgsql as $$ begin doubled := a * 2; end $$;
select single(4);
select * from single(4);
create function both_ways(inout a int, inout b text) language plpgsql as $$ begin a := a + 1; b := b || a; end $$;
select * from both_ways(1, 'x');
create function several(n int, out i int, out j int) returns setof record language plpgsql as $$
begin
  for k in 1 .. n loop
    i := k; j := -k;
    return next;
  end loop;
end $$;
select * from several(2);
create function early(a int, out b int) language plpgsql as $$ begin b := 1; if a > 0 then return; end if; b := 2; end $$;
select early(1), early(0);
select i, quotient, remainder from generate_series(4, 6) i, divide(i, 3) order by i;
