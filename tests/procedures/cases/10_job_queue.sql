-- The oldest job that nobody has is taken, done or given back.
create table job (id serial primary key, state text not null default 'new', tries int not null default 0, payload text);
create index job_state on job (state, id);
insert into job (payload) values ('a'), ('b'), ('c');
create function take(out job_id int, out what text) language plpgsql as $$
begin
  select id, payload into job_id, what from job where state = 'new' order by id limit 1 for update skip locked;
  if found then
    update job set state = 'taken', tries = tries + 1 where id = job_id;
  end if;
end $$;
create procedure give_back(job_id int, tries_max int default 2) language plpgsql as $$
begin
  update job set state = case when tries >= tries_max then 'failed' else 'new' end where id = job_id and state = 'taken';
  if not found then
    raise exception 'job % is not taken', job_id using errcode = 'P0002';
  end if;
end $$;
select * from take();
select * from take();
call give_back(1);
select * from take();
call give_back(1);
call give_back(1);
select * from take();
select * from take();
select state, count(*), sum(tries) from job group by state order by state;
