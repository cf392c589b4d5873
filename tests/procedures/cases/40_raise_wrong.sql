create procedure p() language plpgsql as $$ begin raise notice 'a % %', 1; end $$;
create procedure p() language plpgsql as $$ begin raise notice 'a %', 1, 2; end $$;
create procedure p() language plpgsql as $$ begin raise notice 'a', 1; end $$;
create procedure p() language plpgsql as $$ begin raise no_such_condition; end $$;
create procedure p() language plpgsql as $$ begin raise sqlstate '123'; end $$;
create procedure p() language plpgsql as $$ begin raise notice 'a' using nothing = 1; end $$;
-- either
create procedure p() language plpgsql as $$ begin raise; end $$;
call p();
create or replace procedure p() language plpgsql as $$ begin raise notice '%', 1/0; end $$;
call p();
