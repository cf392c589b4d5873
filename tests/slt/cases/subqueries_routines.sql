-- Subqueries inside routines, and routines inside subqueries.
create table t (id int primary key, g int, v int)
create table u (id int primary key, t_id int, w int)
insert into t values (1, 1, 10), (2, 1, 20), (3, 2, null), (4, 2, 40), (5, 3, 50)
insert into u values (1, 1, 5), (2, 1, 6), (3, 2, null), (4, 4, 40), (5, null, 1)
create function total(n int) returns bigint language plpgsql stable as $$ begin return (select sum(w) from u where t_id = n); end $$
create function best(n int) returns int language sql stable as 'select id from t o where g = n and v = (select max(v) from t i where i.g = o.g)'
select id, total(id), best(g) from t order by id
select id from t where (select total(t.id)) > 10 order by id
select id, (select sum(total(u.t_id)) from u where u.t_id = t.id) from t order by id
create function above(n int) returns int language plpgsql as $$ declare found_rows int := 0; r record; begin for r in select id, (select count(*) from u where u.t_id = t.id) as c from t where v > (select avg(v) from t i where i.g = t.g or n > 0) order by id loop found_rows := found_rows * 10 + r.id + r.c; end loop; return found_rows; end $$
select above(0), above(1)
create function has(n int) returns text language plpgsql as $$ begin if exists (select 1 from u where t_id = n and w > (select min(v) from t where t.id = u.t_id)) then return 'yes'; elsif n in (select t_id from u) then return 'known'; else return 'no'; end if; end $$
select has(n) from generate_series(1, 6) n
create function raise_all(low int) returns int language plpgsql as $$ declare n int; begin update t set v = coalesce(v, 0) + (select count(*) from u where u.t_id = t.id) where not exists (select 1 from u where u.t_id = t.id and u.w > low); get diagnostics n = row_count; return n; end $$
select raise_all(10)
select * from t order by id
create function swap_in(n int) returns void language plpgsql as $$ begin update t set (g, v) = (select max(u.t_id), sum(u.w) + n from u where u.t_id <= t.id) where id <> n; delete from u where w < all (select v from t where t.g = u.t_id); insert into u select id + 100, (select min(id) from t), (select count(*) from u) from t where v is not null; end $$
select swap_in(3)
select * from t order by id
select * from u order by id
create function picked(n int) returns setof int language sql as 'select t.id from t where exists (select 1 from u where u.t_id = t.id and u.w > n) order by id'
select * from picked(0)
select id, array(select picked(t.id)) from t order by id
select id from t where id in (select picked(0)) order by id
create function several() returns int language plpgsql as $$ begin return (select id from t); end $$
select several()
create function caught() returns text language plpgsql as $$ begin perform (select id from t); return 'none'; exception when cardinality_violation then return 'several'; end $$
select caught()
create function var(v int) returns bigint language plpgsql as $$ begin return (select count(*) from u where w > var.v and exists (select 1 from t where t.id = u.t_id and t.v > var.v)); end $$
select var(0), var(5)
create function ambiguous(v int) returns bigint language plpgsql as $$ begin return (select count(*) from u where exists (select 1 from t where t.id = u.t_id and v > 0)); end $$
select ambiguous(1)
