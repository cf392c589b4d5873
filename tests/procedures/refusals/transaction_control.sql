create table t (id int primary key, v int);
create procedure chains() language plpgsql as $$
begin
  commit and chain; -- refused: 0A000 AND CHAIN
end $$;
create procedure commits_in_sql() language sql as $$
  insert into t values (1, 1);
  commit; -- refused: 0A000 COMMIT
$$;
