create table t (id int primary key, v int);
create procedure creates() language plpgsql as $$
begin
  insert into t values (1, 1);
  create table u (id int primary key); -- refused: 0A000 CREATE TABLE
end $$;
create procedure creates_temporary() language plpgsql as $$
begin
  create temporary table u (id int); -- refused: 0A000 CREATE TABLE
end $$;
create procedure drops() language plpgsql as $$
begin
  drop table t; -- refused: 0A000 DROP TABLE
end $$;
create procedure alters() language plpgsql as $$
begin
  alter table t add column w int; -- refused: 0A000 ALTER TABLE
end $$;
create procedure indexes() language plpgsql as $$
begin
  create index on t (v); -- refused: 0A000 CREATE INDEX
end $$;
create procedure empties() language plpgsql as $$
begin
  truncate t; -- refused: 0A000 TRUNCATE
end $$;
create procedure settings() language plpgsql as $$
begin
  set work_mem = '4MB'; -- refused: 0A000 SET
end $$;
