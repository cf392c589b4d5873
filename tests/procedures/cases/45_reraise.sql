create procedure fail(m text) language plpgsql as $$
begin
  raise exception '%', m using detail = 'the detail', hint = 'the hint', errcode = 'AB001';
end $$;
create procedure p(a int) language plpgsql as $$
begin
  call fail('first');
exception when others then
  raise notice 'seen % %', sqlstate, sqlerrm;
  if a = 1 then
    raise;
  elsif a = 2 then
    begin
      call fail('second');
    exception when others then
      raise notice 'seen % %', sqlstate, sqlerrm;
    end;
    raise notice 'again % %', sqlstate, sqlerrm;
    raise;
  elsif a = 3 then
    begin
      raise;
    exception when others then
      raise notice 'caught again %', sqlerrm;
    end;
  end if;
end $$;
-- detail
call p(1);
-- detail
call p(2);
-- detail
call p(3);
