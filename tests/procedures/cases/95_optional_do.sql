-- Optional: a block without a name.
create table t (id int primary key);
do $$
begin
  for i in 1 .. 3 loop
    insert into t values (i);
  end loop;
end $$;
select count(*) from t;
do language plpgsql $$ begin raise exception 'stop'; end $$;
