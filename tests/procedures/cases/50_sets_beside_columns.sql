-- Sets in select lists: order, limits, empty ones, several side by side; records that the caller names.
create table t (id int primary key, n int);
insert into t values (1, 2), (2, 0), (3, 3), (4, null);
create function upto(n int) returns setof int language plpgsql as $$ begin for i in 1 .. n loop return next i; end loop; end $$;
select id, upto(n) from t where n is not null order by id, 2;
select id, upto(n) as u from t where n is not null order by id desc, u desc limit 3;
select distinct upto(3) as n from t order by 1;
select upto(2), 'x' as x;
select generate_series(1, 3) as g, id from t where id < 3 order by 2, 1;
select unnest(array[1, 2, 3]) as a, unnest(array['x', 'y']) as b;
select count(*) from (select id, upto(3) from t) s;
select x, y from (select id as x, upto(n) as y from t where id = 3) s where y > 1 order by y;
create function pairs(k int) returns setof record language sql as $$ select id, n from t where id <= k order by id $$;
select * from pairs(2) as (a int, b int);
select p.a, p.b + 1 as c from pairs(3) as p (a int, b int) where b > 0 order by a;
select t.id, p.b from t join pairs(4) as p (a int, b int) on p.a = t.id order by t.id;
create function either(k int) returns record language plpgsql as $$
begin
  if k > 0 then
    return row(k, 'above'::text);
  end if;
  return row(k, 'not'::text);
end $$;
select * from either(1) as (k int, word text);
select * from either(0) as e (k int, word text) where word = 'not';
select * from upto(3) as (a int);
