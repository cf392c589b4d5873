-- OTHERS is every error but two: a cancelled query and a failed ASSERT.
create procedure checked(a int) language plpgsql as $$
begin
  assert a > 0, 'a is ' || a;
  assert a > 1;
  raise notice 'passed';
exception when others then
  raise notice 'caught %', sqlerrm;
end $$;
call checked(2);
call checked(1);
call checked(0);
create procedure by_name() language plpgsql as $$
begin
  assert null;
exception when assert_failure then
  raise notice 'caught % %', sqlstate, sqlerrm;
end $$;
call by_name();
