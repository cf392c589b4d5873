create table t (id int primary key);
create procedure p(a int) language plpgsql as $$
begin
  insert into t values (a);
  if a = 1 then raise exception 'a is %', a; end if;
  if a = 2 then raise 'by default an exception'; end if;
  if a = 3 then raise exception 'with a state' using errcode = '22012'; end if;
  if a = 4 then raise exception 'with a name' using errcode = 'unique_violation'; end if;
  if a = 5 then raise exception 'all' using detail = 'the detail', hint = 'the ' || 'hint', errcode = 'P9999'; end if;
  if a = 6 then raise division_by_zero; end if;
  if a = 7 then raise sqlstate '22P02'; end if;
  if a = 8 then raise unique_violation using message = 'message ' || a; end if;
  if a = 9 then raise exception using message = 'only using', errcode = 'check_violation'; end if;
  if a = 10 then raise sqlstate 'AB123' using hint = 'no message'; end if;
  if a = 11 then raise exception '%', null; end if;
  if a = 12 then raise warning 'not an error' using errcode = '01004', hint = 'look'; end if;
  if a = 13 then raise exception using errcode = 'P0001'; end if;
end $$;
-- detail
call p(1);
-- detail
call p(2);
-- detail
call p(3);
-- detail
call p(4);
-- detail
call p(5);
-- detail
call p(6);
-- detail
call p(7);
-- detail
call p(8);
-- detail
call p(9);
-- detail
call p(10);
-- detail
call p(11);
-- detail
call p(12);
-- detail
call p(13);
-- detail
call p(17);
select * from t order by id;
