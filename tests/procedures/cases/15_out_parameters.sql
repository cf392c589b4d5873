create procedure one_out(a int, out b int) language plpgsql as $$ begin b := a + 1; end $$;
call one_out(1, null);
call one_out(1, 5);
call one_out(1);
create procedure several(inout a int, in b int, inout c text, out d numeric(5,2)) language plpgsql as $$
begin
  a := a + b;
  c := c || '!';
  d := a / 3.0;
end $$;
call several(1, 2, 'x', null);
call several(1, 2, null, null);
call several(c => 'y', a => 3, b => 4, d => 0);
create procedure not_set(out a int, out b text) language plpgsql as $$ begin end $$;
call not_set(1, 'x');
create procedure returns_early(inout a int) language plpgsql as $$
begin
  if a > 1 then
    a := 100;
    return;
  end if;
  a := -1;
end $$;
call returns_early(1);
call returns_early(2);
create procedure with_value(inout a int) language plpgsql as $$ begin return 5; end $$;
create procedure without_names(int, inout int) language plpgsql as $$ begin $2 := $1 + $2; end $$;
call without_names(3, 4);
create procedure out_default(a int, inout b int default 7) language plpgsql as $$ begin b := a + b; end $$;
call out_default(1);
call out_default(1, 2);
