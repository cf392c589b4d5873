-- What only the session does, called by PL/pgSQL: PERFORM, and SELECT … INTO.
do $$begin perform pg_sleep(0.001); end$$;
do $$declare n int := 1; begin perform pg_sleep(n / 1000.0); perform pg_sleep(0), pg_advisory_lock(n + 960), pg_advisory_unlock(961); end$$;
create function sr(n int) returns text language plpgsql as $$ declare got bool; gave bool; r record; said text := ''; begin perform pg_advisory_xact_lock(n); if found then said := 'found '; end if; select pg_try_advisory_lock(n) into got; select pg_advisory_unlock(n) as gave into r; select pg_advisory_unlock($1), pg_try_advisory_xact_lock(sr.n, 2) into strict gave, got; return said || got || r.gave || gave; end$$;
select sr(962);
create table srt (a int);
create procedure srp(n int) language plpgsql as $$begin perform pg_sleep(0); insert into srt values (n); commit; perform pg_sleep(n / 1e6); end$$;
call srp(980);
select * from srt order by a;
do $$begin perform pg_sleep('x'); end$$;
do $$begin perform pg_sleep(nobody); end$$;
do $$begin perform pg_sleep(1, 2); end$$;
do $$begin begin perform pg_sleep('x'); exception when others then raise notice '%', sqlstate; end; perform pg_sleep(null); end$$;
drop table srt;
drop function sr;
drop procedure srp;
