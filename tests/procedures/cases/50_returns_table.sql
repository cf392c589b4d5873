create table t (id int primary key, name text, v numeric(6,2));
insert into t values (1, 'one', 1.5), (2, 'two', 2.5), (3, 'three', null);
create function above(low int) returns table (k int, label text, twice numeric) language plpgsql as $$
begin
  return query select t.id, t.name, t.v * 2 from t where t.id >= low order by t.id;
end $$;
select * from above(2);
select label from above(1) where twice is null;
select a.k, t.v from above(1) a join t on t.id = a.k order by a.k;
select * from above(9);
create function by_hand(n int) returns table (i int, square int) language plpgsql as $$
begin
  for j in 1 .. n loop
    i := j;
    square := j * j;
    return next;
  end loop;
  i := null;
  return next;
end $$;
select * from by_hand(2);
select sum(square) from by_hand(3);
create function one_column() returns table (only_one text) language plpgsql as $$
begin
  only_one := 'a'; return next;
  only_one := 'b'; return next;
end $$;
select * from one_column();
select only_one || '.' as x from one_column() as f order by x desc;
-- either
-- detail
create function wrong_types() returns table (a int, b int) language plpgsql as $$ begin return query select 1, 'x'::text; end $$;
select * from wrong_types();
-- either
-- detail
create function wrong_count() returns table (a int, b int) language plpgsql as $$ begin return query select 1; end $$;
select * from wrong_count();
