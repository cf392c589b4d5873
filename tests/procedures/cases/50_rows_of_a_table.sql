create table t (id int primary key, name text, v int);
insert into t values (1, 'one', 10), (2, 'two', 20);
create function get(k int) returns t language plpgsql as $$
declare
  r t%rowtype;
begin
  select * into r from t where id = k;
  return r;
end $$;
select * from get(1);
select name from get(2);
select * from get(3);
create function those(low int) returns setof t language plpgsql as $$
declare
  r t;
begin
  for r in select * from t where v >= low order by id loop
    r.name := r.name || '!';
    return next r;
  end loop;
  return query select * from t where v < low order by id;
end $$;
select * from those(20);
select id, name from those(0) where v = 10;
