-- Advisory locks of NULL lock nothing, wherever they are called.
select pg_advisory_lock(null)
select pg_try_advisory_lock(null) is null
select pg_try_advisory_lock(null, 1), pg_advisory_unlock(null)
select coalesce(pg_try_advisory_lock(null), true)
select pg_advisory_lock(null) is null, pg_sleep(null) is null
select x from (values (1), (2)) v(x) where pg_try_advisory_xact_lock_shared(null, x) is null order by x
create table seen (what text)
do $$ declare b bool; n bigint; begin b := pg_try_advisory_lock(n); insert into seen values (coalesce(b::text, 'null')); end $$
do $$ declare n bigint; begin if pg_try_advisory_lock(n) is null then insert into seen values ('of an IF'); end if; end $$
do $$ declare b bool; n bigint; begin perform pg_advisory_xact_lock(n); perform pg_advisory_lock(1, null); select pg_try_advisory_lock(n) into b; insert into seen values (b); end $$
do $$ declare b bool; begin b := pg_try_advisory_lock(77); insert into seen values (b); b := pg_advisory_unlock(77); insert into seen values (b); end $$
select * from seen
create function g(n bigint) returns bool language sql as 'select pg_try_advisory_lock(n)'
select g(null)
create function g3(n bigint) returns bool language plpgsql as $$ begin return pg_try_advisory_lock(n); end $$
select g3(null)
select count(*) from pg_locks where locktype = 'advisory'
select pg_try_advisory_lock(1, 2, 3)
select pg_advisory_lock('a'::text)
drop function g(bigint)
drop function g3(bigint)
