create function simple(a int) returns text language plpgsql as $$
begin
  case a
    when 1 then return 'one';
    when 2, 3 then return 'two or three';
    when 1 then return 'never';
    else return 'else';
  end case;
end $$;
select simple(1), simple(2), simple(3), simple(4), simple(null);
create function searched(a int) returns text language plpgsql as $$
begin
  case
    when a < 10 then return 'small';
    when a < 100 then return 'middle';
    when a is null then return 'null';
  end case;
  return 'not reached';
end $$;
select searched(1), searched(50), searched(null);
-- detail
select searched(1000);
create procedure without_else(a text) language plpgsql as $$
begin
  case upper(a)
    when 'A' then raise notice 'it is a';
    when 'B' then null;
  end case;
  raise notice 'after';
end $$;
call without_else('a');
call without_else('b');
-- detail
call without_else('c');
create procedure handled() language plpgsql as $$
begin
  case 1 when 2 then null; end case;
exception when case_not_found then raise notice '% %', sqlstate, sqlerrm;
end $$;
call handled();
