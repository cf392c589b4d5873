create table t (id int primary key, v int);
create procedure p() language plpgsql as $$
declare
  n int;
  m bigint;
  x int;
begin
  insert into t select i, 0 from generate_series(1, 10) i; get diagnostics n = row_count; raise notice 'inserted %', n;
  update t set v = 1 where id <= 4; get diagnostics n := row_count; raise notice 'updated %', n;
  update t set v = 1 where id > 40; get current diagnostics n = row_count; raise notice 'updated %', n;
  x := 5; get diagnostics n = row_count; raise notice 'after an assignment %', n;
  delete from t where v = 1; get diagnostics m = row_count, n = row_count; raise notice 'deleted % %', m, n;
  select id into x from t; get diagnostics n = row_count; raise notice 'selected %', n;
  perform id from t; get diagnostics n = row_count; raise notice 'performed %', n;
  insert into t values (5, 5), (50, 5) on conflict do nothing; get diagnostics n = row_count; raise notice 'inserted %', n;
end $$;
call p();
