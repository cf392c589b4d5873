-- A counter that every call adds to, and reads back.
create table counter (id int primary key, hits bigint not null, changed int not null default 0);
insert into counter values (1, 0), (2, 40);
create procedure hit(which int, inout total bigint) language plpgsql as $$
begin
  update counter set hits = hits + 1, changed = changed + 1 where id = which returning hits into total;
end $$;
call hit(1, null);
call hit(1, null);
call hit(2, 7);
call hit(3, 7);
select * from counter order by id;
create procedure hit_often(which int, times int) language plpgsql as $$
declare
  total bigint;
begin
  for i in 1 .. times loop
    call hit(which, total);
  end loop;
  raise notice 'total %', total;
end $$;
call hit_often(1, 100);
call hit_often(1, 0);
select * from counter order by id;
