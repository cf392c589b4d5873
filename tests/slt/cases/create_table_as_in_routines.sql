create table source_rows (id int, name text);
insert into source_rows values (1, 'a'), (2, 'b'), (3, 'c');
create function rep(n int) returns int language plpgsql as $$ begin
  create temp table tmpx as select generate_series(1, n) as a;
  insert into tmpx values (100);
  return (select sum(a) from tmpx);
end $$;
select rep(3);
drop table tmpx;
select rep(5);
drop table tmpx;
create function several("Odd name" text, r source_rows, out total numeric) language plpgsql as $$
declare v varchar(5) := 'var'; k record; d date := '2024-02-29';
begin
  select 7 as x, 'y' as "Y z" into k;
  create temp table tmpy as select "Odd name" || s.name as joined, r.name, r.id + s.id as plus, v, k.x, k."Y z" as yz, several.total is null as none, $1 as first, d as day
    from source_rows s where s.id < k.x and s.id <> r . id order by s.id limit k.x - 5;
  select sum(plus) into total from tmpy;
end $$;
select several('x', row(2, 'two')::source_rows);
select * from tmpy order by plus;
select column_name, data_type from information_schema.columns where table_name = 'tmpy' order by ordinal_position;
drop table tmpy;
create function ambiguous(id int) returns void language plpgsql as $$ begin create temp table tmpz as select * from source_rows where id = 2; end $$;
select ambiguous(1);
create function nested(low int) returns bigint language plpgsql as $$ begin
  create temp table tmpn on commit drop as with w as (select id from source_rows where source_rows.id >= low) select id, (select count(*) from w w2 where w2.id > low) as more from w where exists (select 1 from w w3 where w3.id = low);
  return (select count(*) from tmpn);
end $$;
select nested(2);
select nested(3);
do $$ begin execute 'create temp table tmpq as select $1 as a, x from generate_series(1, $2) as x' using 5, 3; end $$;
select * from tmpq order by x;
do $$ begin execute 'create temp table tmpr as select $1 || x as a from generate_series(1, 2) as x' using 'text'; end $$;
select * from tmpr order by a;
do $$ declare i int; begin for i in 1 .. 2 loop execute format('create temp table tmps%s as select %s as n', i, i); create temp table tmpt as select i as n; drop table tmpt; end loop; end $$;
select * from tmps1, tmps2;
create procedure filled(a int, b text) language plpgsql as $$ begin
  drop table if exists lasting;
  create table lasting as select a as a, b as b, a * 2 as c;
  commit;
  insert into lasting values (a + 1, b, 0);
end $$;
call filled(4, 'four');
select * from lasting order by a;
drop table lasting;
drop procedure filled(int, text);
drop function rep(int);
drop function several(text, source_rows);
drop function ambiguous(int);
drop function nested(int);
drop table source_rows;
discard temp;
