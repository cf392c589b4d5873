-- The time of a transaction is one; a call is in one.
create procedure p() language plpgsql as $$
declare
  a timestamptz := now();
  b timestamptz;
begin
  perform sum(i) from generate_series(1, 1000) i;
  b := now();
  raise notice '% % % %', a = b, a = current_timestamp, a = transaction_timestamp(), clock_timestamp() >= a;
end $$;
call p();
create table t (id int primary key, at timestamptz default now());
create procedure put(k int) language plpgsql as $$ begin insert into t (id) values (k); end $$;
begin;
call put(1);
call put(2);
commit;
call put(3);
select a.at = b.at, a.at <= c.at from t a, t b, t c where a.id = 1 and b.id = 2 and c.id = 3;
