create table log (id serial primary key, what text);
create function note(w text) returns int language plpgsql as $$
declare
  k int;
begin
  insert into log (what) values (w) returning id into k;
  return k;
end $$;
select note('a');
select note('b') + note('c');
select note(x) from (values ('d'), ('e')) v(x);
select note('f'), 1 / 0;
select note('g') where false;
begin;
select note('h');
rollback;
select what from log order by id;
create function fail_after(w text) returns void language plpgsql as $$ begin perform note(w); raise exception 'after %', w; end $$;
select fail_after('i');
select count(*) from log;
