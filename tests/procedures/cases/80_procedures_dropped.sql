-- What a procedure calls may be dropped; the call fails until something of that name is there again.
create procedure inner_one(inout a int) language plpgsql as $$ begin a := a + 1; end $$;
create function f(a int) returns int language plpgsql as $$ begin return a + 1; end $$;
create procedure outer_one(inout a int) language plpgsql as $$ begin call inner_one(a); a := f(a); end $$;
call outer_one(10);
drop function f(int);
call outer_one(10);
create function f(a bigint) returns bigint language plpgsql as $$ begin return 1000; end $$;
call outer_one(10);
-- prepared: call outer_one(%s) | Int4(1)
create or replace function f(a bigint) returns bigint language plpgsql as $$ begin return 2000; end $$;
-- prepared: call outer_one(%s) | Int4(1)
drop procedure inner_one(int);
-- prepared: call outer_one(%s) | Int4(1)
drop procedure outer_one(int);
-- prepared: call outer_one(%s) | Int4(1)
call outer_one(1);
