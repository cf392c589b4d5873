-- pg_sleep beside other items, rows and casts.
select pg_sleep(0);
select pg_sleep(0), 1 as one;
select 'before' as before, pg_sleep(0.001), current_database() is not null as there;
select n, pg_sleep(0.001) from generate_series(1, 3) n;
select pg_sleep(n / 1000.0) as nap, n * 2 as twice from generate_series(1, 3) n where n > 1 order by n desc limit 1;
select pg_sleep(null), pg_sleep(-1), pg_sleep('0');
select pg_sleep(0)::text;
select * from pg_sleep(0);
select 1 from pg_sleep(0);
select pg_sleep('a');
select pg_sleep();
select pg_sleep(1, 2);
select pg_sleep(0), pg_try_advisory_lock(941), pg_advisory_unlock(941);
select pg_try_advisory_lock(n), n from generate_series(951, 952) n;
select pg_advisory_unlock(n), n from generate_series(951, 953) n;
