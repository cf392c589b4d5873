create function forever(n int) returns int language plpgsql as $$ begin return forever(n + 1); end $$;
select forever(1);
select 1;
