create procedure p(a int) language plpgsql as $$ begin raise notice 'first %', a; end $$;
call p(1);
create procedure p(a int) language plpgsql as $$ begin raise notice 'again %', a; end $$;
create or replace procedure p(a int) language plpgsql as $$ begin raise notice 'second %', a; end $$;
call p(1);
create or replace procedure p(b int) language plpgsql as $$ begin raise notice 'renamed %', b; end $$;
-- detail
create or replace procedure p(inout a int) language plpgsql as $$ begin a := a + 1; end $$;
call p(1);
-- detail
create or replace function p(a int) returns int language plpgsql as $$ begin return a; end $$;
create or replace function f(a int) returns int language plpgsql as $$ begin return a; end $$;
create or replace function f(a int) returns int language plpgsql as $$ begin return a * 10; end $$;
select f(2);
-- detail
create or replace function f(a int) returns text language plpgsql as $$ begin return a; end $$;
-- detail
create or replace procedure f(a int) language plpgsql as $$ begin end $$;
select f(2);
