create procedure p(a int, b text) language plpgsql as $$ begin end $$;
create function f(a int) returns int language plpgsql as $$ begin return a; end $$;
-- detail
call p(1);
-- detail
call p(1, 'x', 2);
-- detail
call p('x', 'y');
-- detail
call p(1, 2);
-- detail
call p('x'::text, 'y');
-- detail
call q(1);
-- detail
select f();
-- detail
select f('x');
-- detail
select f('x'::text);
-- detail
select f(1.5);
-- detail
select g(1);
-- detail
call f(1);
-- detail
select p(1, 'x');
-- detail
select * from p(1, 'x');
-- detail
select * from f(1, 2);
call p(f(1), f(2)::text);
call p((select 1), 'x');
call p(a, 'x');
call p(max(1), 'x');
