-- Arrays side by side in FROM.
create table stock (id int primary key, quantity int not null);
insert into stock select i, i * 10 from generate_series(1, 5) i;
create procedure take(ids int[], amounts int[]) language plpgsql as $$
declare
  r record;
begin
  update stock set quantity = quantity - a.amount from unnest(ids, amounts) as a (id, amount) where stock.id = a.id;
  raise notice '% rows', (select count(*) from unnest(ids, amounts));
  for r in select * from unnest(amounts, array['x', 'y', 'z', 'more']) as u (amount, name) loop
    raise notice '% %', r.amount, r.name;
  end loop;
end $$;
call take('{1,3,5}', '{1,2,3}');
call take('{2}', '{4,5}');
call take('{}', '{}');
call take(null, null);
select * from stock order by id;
select * from unnest('{1,2}'::int[], '{a,null,c}'::text[], null::int[]);
select u.b, s.id from unnest('{1,9}'::int[], '{a,b}'::text[]) as u (a, b) left join stock s on s.id = u.a order by u.a;
select * from stock s, unnest(array[s.id], array[s.quantity, 0]) as u (a, b) where s.id < 3 order by s.id, b;
