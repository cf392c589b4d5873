create table used_a(id serial primary key, b bigserial);
create table used_b(like used_a including defaults, c int default currval('used_a_id_seq')+nextval('used_a_b_seq'));
drop table used_a;
drop table used_a cascade;
select attname, pg_get_expr(adbin,adrelid) from pg_attrdef join pg_attribute on attrelid=adrelid and attnum=adnum where adrelid='used_b'::regclass;
insert into used_b(id,b) values(1,2);
select * from used_b;
drop table used_b;
