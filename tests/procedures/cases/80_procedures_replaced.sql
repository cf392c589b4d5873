create procedure inner_one(inout a int) language plpgsql as $$ begin a := a + 1; end $$;
create function f(a int) returns int language plpgsql as $$ begin return a + 1; end $$;
create procedure outer_one(inout a int) language plpgsql as $$ begin call inner_one(a); a := f(a); end $$;
call outer_one(10);
create or replace procedure inner_one(inout a int) language plpgsql as $$ begin a := a * 2; end $$;
call outer_one(10);
create or replace function f(a int) returns int language plpgsql as $$ begin return -a; end $$;
call outer_one(10);
-- prepared: call outer_one(%s) | Int4(1)
create or replace procedure outer_one(inout a int) language plpgsql as $$ begin a := f(a) + 7; end $$;
-- prepared: call outer_one(%s) | Int4(1)
create or replace function f(a int) returns int language plpgsql as $$ begin return 0; end $$;
-- prepared: call outer_one(%s) | Int4(1)
call outer_one(10);
