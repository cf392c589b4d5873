-- A field or an element of what a call gives, in an expression.
create table t (id int primary key, v int);
insert into t values (1, 10);
create function divide(a int, b int, out quotient int, out remainder int) language plpgsql as $$
begin
  quotient := a / b;
  remainder := a % b;
end $$;
select (divide(17, 5)).remainder;
select (divide(17, 5)).*;
create function get(k int) returns t language sql as $$ select * from t where id = k $$;
select (get(1)).v + 1 as w;
create function squares(n int) returns int[] language sql as $$ select array_agg(i * i order by i) from generate_series(1, n) i $$;
select (squares(3))[2], (squares(3))[7];
