-- Optional: bodies that are SQL themselves, not a text.
create table t (id int primary key, v int);
create function twice(a int) returns int language sql return a * 2;
create function of_row(k int) returns int return (select v from t where id = k);
create procedure put(k int, x int) language sql begin atomic
  insert into t values (k, x);
  update t set v = case when v > 5 then v + 1 else v end where id = k;
end;
create procedure empty() begin atomic end;
call put(1, 5);
call put(2, 6);
call empty();
select twice(4), of_row(2), of_row(9);
select * from t order by id;
create function rows_of(low int) returns table (a int, b int) begin atomic
  select id, v from t where v >= low order by id;
end;
select * from rows_of(6);
create function wrong() returns int return nothing;
