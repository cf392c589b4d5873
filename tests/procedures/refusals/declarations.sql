create table t (id int primary key, v int);
create function fires() returns event_trigger -- refused: 0A000 event trigger
language plpgsql as $$
begin
  return new;
end $$;
create function any_type(a anyrange) returns anyrange -- refused: 0A000 anyrange
language plpgsql as $$ begin return a; end $$;
create function another_role() returns int -- refused: 0A000 SET role
language plpgsql set role = quintet as $$ begin return 1; end $$;
create function takes(a macaddr8) returns int -- refused: 0A000 macaddr8
language plpgsql as $$ begin return 1; end $$;
create procedure declares() language plpgsql as $$
declare
  n int;
  i macaddr8 := '08:00:2b:01:02:03:04:05'; -- refused: 0A000 macaddr8
begin
  n := 1;
end $$;
create procedure context() language plpgsql as $$
declare
  s text;
begin
  get diagnostics s = pg_context; -- refused: 0A000 PG_CONTEXT
end $$;
