-- Optional: as HammerDB's procedures: arrays side by side, and changes whose rows are gathered.
create table stock (id int primary key, quantity int not null);
insert into stock select i, i * 10 from generate_series(1, 5) i;
create procedure take(ids int[], amounts int[], inout left_over int[]) language plpgsql as $$
begin
  update stock set quantity = quantity - a.amount from unnest(ids, amounts) as a (id, amount) where stock.id = a.id;
  update stock set quantity = quantity + a.amount from (select unnest(ids) as item, unnest(amounts) as amount) a where a.item = stock.id;
  with changed as (
    update stock s set quantity = s.quantity + 1 from unnest(ids) as u (id) where s.id = u.id returning s.id, s.quantity
  )
  select array_agg(quantity order by id) into left_over from changed;
end $$;
call take('{1,3,5}', '{1,2,3}', null);
select * from stock order by id;
