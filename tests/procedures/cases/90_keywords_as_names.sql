create table t (id int primary key, name text, type text, value int, date date);
insert into t values (1, 'n', 't', 5, '2026-01-01');
create procedure p(name text, value int, inout type text) language plpgsql as $$
declare
  count int;
  date date := '2026-05-06';
  log text := 'l';
  notice int := 3;
  level text;
  exit_code int := 0;
begin
  count := 5;
  log := log || count;
  notice := notice + 1;
  select t.name into level from t where id = 1;
  type := type || name || value || log || notice || level || date;
  exit_code := exit_code + 1;
end $$;
call p('a', 1, 'x');
