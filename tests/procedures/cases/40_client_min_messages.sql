create procedure p(a int) language plpgsql as $$
begin
  raise debug 'debug %', a;
  raise log 'log %', a;
  raise info 'info %', a;
  raise notice 'notice %', a;
  raise warning 'warning %', a;
end $$;
call p(1);
set client_min_messages = debug1;
call p(2);
set client_min_messages = warning;
call p(3);
set client_min_messages = error;
call p(4);
reset client_min_messages;
call p(5);
