create table orow (id int primary key, name text)
create table oline (id int primary key, orow_id int, qty int)
create function orow_text(r orow) returns text language sql as $$ select r.id || ':' || coalesce(r.name, '-') $$
insert into orow values (1, 'a'), (2, null), (3, 'c')
insert into oline values (1, 1, 5), (2, 1, 6), (3, 3, 7)
select (select x::text) from orow x order by x.id
select (select to_json(x)) from orow x order by x.id
select (select orow_text(x)) from orow x order by x.id
select (select f from orow_text(x) f) from orow x order by x.id
select (select to_json(f) from orow_text(x) f where true) from (select p.* from orow p order by p.id) x
select id, exists (select 1 from oline l where l.orow_id = x.id and x is not null) from orow x order by id
select id, (select count(x.id + l.id) from oline l where l.orow_id = x.id) from orow x order by id
select id, (select max(l.qty) from oline l where (l.orow_id, 'a') = (x.id, x.name)) from orow x order by id
select id, (select (x).name) from orow x order by id
select id, (select (select row_to_json(x))) from orow x order by id
select id, (select (select row_to_json(x) from oline l where l.orow_id = x.id order by l.id limit 1)) from orow x order by id
select l.id, (select x::text) from oline l left join orow x on x.id = l.orow_id and x.name = 'a' order by l.id
select l.id, (select x is null) from oline l left join orow x on x.id = l.orow_id and x.name = 'a' order by l.id
select x.id, y.j from orow x, lateral (select to_jsonb(x) || '{"k": 1}' as j) y order by x.id
select id from orow x where exists (select 1 from orow y where y = x and y.id > 1) order by id
select id from orow x where x in (select y from orow y where y.id < 3) order by id
select (select x from (select 7 as x) s) from orow x order by id
update orow x set name = (select upper(orow_text(x))) where id < 3 returning x.*, (select orow_text(x))
delete from orow x where (select orow_text(x)) = '3:c' returning (select x::text)
insert into orow as x values (9, 'n') returning (select to_json(x))
select (select nope::text) from orow x
drop function orow_text
drop table orow, oline
