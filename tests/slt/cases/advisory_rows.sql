create table ar_t (id int primary key, big bigint, note text)
insert into ar_t values (1, 11, 'a'), (2, 12, 'b'), (3, null, 'c')
select pg_try_advisory_lock(id), id from ar_t order by id
select id, pg_advisory_unlock(id) as gone, note from ar_t where id < 3 order by id desc
select pg_advisory_unlock(big) from ar_t order by id limit 1
select pg_advisory_lock(big)::text as locked, note || '!' as n from ar_t where big is not null order by big
select pg_advisory_unlock(big), pg_try_advisory_xact_lock(id, id + 1) from ar_t order by id
select pg_advisory_lock(n) from (values (5), (6)) v(n)
select pg_advisory_unlock(n) as u from generate_series(5, 7) n order by n
with w as (select 9 as n) select pg_advisory_lock(n) from w
with w as (select 9 as n) select pg_advisory_unlock(n), n from w
with set_timeout as (select set_config('lock_timeout', '5000', true) as t) select pg_advisory_lock(77) from set_timeout
select pg_advisory_unlock(77) where true
select pg_advisory_unlock(77) where false
select pg_advisory_xact_lock(id) from ar_t where id = 99
select pg_advisory_lock('x') from ar_t
select pg_advisory_lock(id, id, id) from ar_t
select pg_advisory_unlock_all() from ar_t where id = 1
drop table ar_t
