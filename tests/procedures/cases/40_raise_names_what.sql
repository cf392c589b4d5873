create procedure p() language plpgsql as $$
begin
  raise exception 'about a column' using errcode = '23514', schema = 's', table = 't', column = 'c', constraint = 'k', datatype = 'd';
end $$;
-- detail
call p();
create procedure q() language plpgsql as $$
declare
  a text; b text; c text; d text; e text;
begin
  call p();
exception when others then
  get stacked diagnostics a = schema_name, b = table_name, c = column_name, d = constraint_name, e = pg_datatype_name;
  raise notice '% % % % %', a, b, c, d, e;
end $$;
call q();
