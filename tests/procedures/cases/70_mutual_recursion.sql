-- Two that call each other; the second is not there yet when the first is made.
create function is_even(n int) returns boolean language plpgsql as $$ begin if n = 0 then return true; end if; return is_odd(n - 1); end $$;
create function is_odd(n int) returns boolean language plpgsql as $$ begin if n = 0 then return false; end if; return is_even(n - 1); end $$;
select is_even(10), is_even(7);
