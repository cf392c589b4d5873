create function try(a int) returns text language plpgsql as $$
begin
  if a = 1 then perform 1 / 0; end if;
  if a = 2 then raise unique_violation; end if;
  if a = 3 then perform 'x'::int; end if;
  if a = 4 then raise exception 'x' using errcode = '40001'; end if;
  if a = 5 then raise exception 'x'; end if;
  if a = 6 then raise exception 'x' using errcode = 'P0003'; end if;
  return 'no error';
exception
  when integrity_constraint_violation then return 'class 23: ' || sqlstate;
  when data_exception then return 'class 22: ' || sqlstate;
  when plpgsql_error then return 'class P0: ' || sqlstate;
  when transaction_rollback then return 'class 40: ' || sqlstate;
end $$;
select try(0), try(1), try(2), try(3);
select try(4);
select try(5);
select try(6);
create function first_one() returns text language plpgsql as $$
begin
  perform 1 / 0;
exception
  when others then return 'others';
  when division_by_zero then return 'never';
end $$;
select first_one();
create procedure not_mine() language plpgsql as $$
begin
  perform 1 / 0;
exception when unique_violation then raise notice 'never';
end $$;
call not_mine();
create procedure several_names() language plpgsql as $$
declare
  n int;
begin
  select 1 into strict n where false;
exception
  when serialization_failure or deadlock_detected or lock_not_available then raise notice 'never';
  when SQLSTATE 'P0002' or too_many_rows then raise notice '%', sqlstate;
end $$;
call several_names();
create procedure bad_name() language plpgsql as $$ begin null; exception when no_such_name then null; end $$;
