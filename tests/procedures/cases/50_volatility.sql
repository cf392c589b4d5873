create table t (id int primary key, v int);
insert into t values (1, 0);
create function bump() returns int language plpgsql volatile as $$
begin
  update t set v = v + 1 where id = 1;
  return (select v from t where id = 1);
end $$;
select bump(), bump();
select i, bump() from generate_series(1, 3) i order by i;
select v from t;
-- either
create function writes_but_stable() returns int language plpgsql stable as $$ begin update t set v = 0; return 1; end $$;
select writes_but_stable();
create function pure(a int) returns int language plpgsql immutable parallel safe cost 10 leakproof as $$ begin return a + 1; end $$;
select pure(1), pure(pure(1));
select v from t;
