-- Rows as values: composite types as columns, casts, fields, comparisons, arrays, JSON, calls.
create type c2 as (a int, b text)
create type c3 as (x c2, n numeric(6,2), d date)
create table t (id int primary key, v c2, w c3, vs c2[])
insert into t values (1, row(1,'one'), row(row(2,'two'),3.456,'2020-01-01'), array[row(1,'x')::c2, null, row(null,'a b')::c2])
insert into t values (2, '(5,"a b")', '("(7,seven)",1,)', '{"(1,q)"}'), (3, null, null, null), (4, row(null,null), row(null,null,null), '{}')
select * from t order by id
select id, (v).a, (v).b, (w).x.a, (w).n, ((w).x).b, vs[1], (vs[1]).b from t order by id
select (v).*, id from t order by id
select * from t where v = row(1,'one')::c2
select * from t order by v desc, id
select v, count(*) from t group by v order by v
select distinct v from t order by 1
select row(1,'x')::c2, null::c2, '(1,"a b")'::c2, '(,)'::c2, ' ( 1 , x ) '::c2
select '(1)'::c2
select '(1,2,3)'::c2
select '1,2)'::c2
select '(1,2'::c2
select '(1,2)x'::c2
select '(x,2)'::c2
select row(1,2,3)::c2
select row(1)::c2
select row(1,2)::c2
select row('q',2)::c2
select row(true,2)::c2
select t from t order by id
select t::text from t order by id
select t.*::text from t order by id
select row_to_json(t) from t order by id
select to_jsonb(v), to_json(w), to_jsonb(vs) from t order by id
select pg_typeof(v), pg_typeof(w), pg_typeof(vs), pg_typeof(t), pg_typeof(row(1,2)) from t limit 1
select array_agg(v order by id) from t
select array_agg(t order by id) from t where id < 3
select unnest(vs) from t order by id
select u.* from t, unnest(vs) u order by id, a
select id, u from t, unnest(vs) u order by id, u
update t set v.a = 10 where id = 1
update t set v.b = 'new' where id = 3
update t set v = row((v).a + 1, (v).b) where id = 2
insert into t (id, v.b) values (7, 'seven')
insert into t (id, v.a, v.b, w.n) values (8, 8, 'eight', 1.239)
select * from t order by id
select (t).id, (t).v from t order by id
select (t.v).a from t where (t.v).a > 1 order by id
select max((v).a) from t
select coalesce(v, row(0,'none')::c2) from t order by id
select case when id=1 then v else row(0,'x') end from t order by id
select row(1,2) = row(1,2), row(1,2) < row(1,3), row(1,null) = row(1,null), row(1,2)=row(2,null)
select (row(1,2)).f1
select (row(1,'a')::c2).b, (row(1,'a')::c2).zz
select (1).a
select t.v.a from t
select v.a from t
create table k (v c2 primary key, n int)
insert into k values (row(1,'a'),1),(row(2,'b'),2)
insert into k values (row(1,'a'),1)
select * from k where v = row(2,'b')::c2
select * from k where v > row(1,'a')::c2
create index ki on k (v, n)
drop table k
drop type c3
drop table t
drop type c3
drop type c2
create table p (id int, name text)
create type c2 as (a int, b text)
insert into p values (1,'x'),(2,null),(null,null)
create function f1(p) returns int language sql as 'select $1.id'
create function f2(c2) returns c2 language sql as 'select row($1.a+1, $1.b)::c2'
create function f3(i int) returns p language sql as 'select * from p where id = i'
create function f4(i int) returns p language plpgsql as $$ declare r p; begin select * into r from p where id = i; return r; end $$
create function f5(v c2, out x int, out y text) language plpgsql as $$ begin x := v.a; y := v.b; end $$
create function f6(c2[]) returns int language sql as 'select count(*)::int from unnest($1)'
create function f7() returns setof p language sql as 'select * from p order by id'
create function f8(int) returns c2[] language plpgsql as $$ declare r c2[]; begin for i in 1..$1 loop r := r || row(i, 'n' || i)::c2; end loop; return r; end $$
select f1(p) from p order by 1
select f1(row(5,'q')), f1(row(5,'q')::p), f1('(7,x)')
select f2(row(1,'x')), f2('(3,y)'), (f2(row(1,'x'))).a, (f2(row(1,'x'))).*
select (f2(row(id,name))).b, id from p order by 2
select (f3(id)).name from p order by 1
select (f4(id)).* from p order by 1
select f5(row(1,'x')), (f5(row(1,'x'))).y
select * from f5(row(4,'x'))
select f6(array[row(1,'x')::c2, null])
select * from f7()
select x from f7() x
select f8(3)
select * from unnest(f8(2))
select (f8(2))[1].b, (f8(2))[2]
select json_populate_record(null::c2, '{"a":1,"b":"x"}'), jsonb_populate_record(row(5,'z')::c2, '{"a":7}')
select * from json_populate_record(null::c2, '{"a":1,"b":"x"}')
select * from jsonb_populate_recordset(null::c2, '[{"a":1,"b":"x"},{"b":"k"}]')
select (jsonb_populate_record(null::p, '{"id":3,"name":"k"}')).*
select * from json_to_record('{"v":{"a":1,"b":"t"},"n":3}') as x(v c2, n int)
select * from jsonb_to_recordset('[{"v":{"a":1,"b":"t"},"vs":[{"a":2}]},{"v":null}]') as x(v c2, vs c2[])
create table h (id int, v c2 default row(0,'d'), check ((v).a >= 0), w c2[])
insert into h (id) values (1)
insert into h values (2, row(-1,'x'))
insert into h values (3, (4,'x'), array[(1,'k')::c2, (2,'j')::c2])
select * from h
create function trg() returns trigger language plpgsql as $$ begin new.v := row((new.v).a + 100, 'trg'); return new; end $$
create trigger tr before insert on h for each row execute function trg()
insert into h values (4, (1,'q'))
select * from h order by id
create view hv as select id, v, (v).a as va, w from h
select * from hv order by id
select hv from hv order by id
select h.v from h where h.v = any (array[(4,'x')::c2, null])
select h.v from h where (h.v).a in (select a from unnest(w))
select * from h a join h b on a.v = b.v order by a.id, b.id
select v, count(*) from h group by 1 order by 1
select row_number() over (partition by v order by id), v from h order by 1,2
select array_agg(v order by v desc) from h
select a.id from h a where exists (select 1 from h b where b.v = a.v and b.id = 3)
select string_agg(v::text, ';' order by id) from h
update h set v = (v).a + 1 where id = 1
update h set v = row((v).a + 1, 'upd'), w = w || row(9,'n')::c2 where id = 3 returning v, w, (w[3]).b
select id from h order by v, id
select greatest(row(1,'a')::c2, row(2,'b')::c2), least(row(1,'a')::c2, row(2,'b')::c2)
select nullif(row(1,'a')::c2, row(1,'a')::c2)
select row(1,2)::text, row(1,null,'')::text, (row(1,'x y','"q"'))::text
select concat(row(1,2), 'x'), format('%s', row(1,'a b'))
prepare ps(c2) as select $1, ($1).a
execute ps('(4,d)')
deallocate ps
select * from (values (row(1,'a')::c2),(row(0,'b'))) x(v) order by v
select v from (select row(1,'x')::c2 as v union all select null union select row(1,'x')::c2) q order by v
with q as (select v from h) select (v).b from q order by 1
select (select v from h where id=3), ((select v from h where id=3)).a
drop view hv
drop table h
drop function trg()
drop function f1(p)
drop function f2(c2)
drop function f3(int)
drop function f4(int)
drop function f5(c2)
drop function f6(c2[])
drop function f7()
drop function f8(int)
drop table p
drop type c2
create type c2 as (a int, b text)
create type c3 as (x c2, n numeric(6,2))
create table t (id int primary key, v c2 default '(0,d)', w c3, vs c2[], check ((v).a < 100))
insert into t values (1,'(1,a)','("(2,b)",3.14159)','{"(1,x)",NULL}'),(2,null,null,null)
alter type c2 alter attribute a type bigint
alter type c3 alter attribute n type numeric(10,3)
alter type c3 rename attribute n to m
select (w).m from t order by id
alter type c3 rename attribute m to n
create table r (a int, b text)
create table r2 (id int, v r)
insert into r2 values (1, row(1,'x'))
select * from r2
select (v).b from r2
alter table r alter column a type bigint
alter table r rename column b to bb
select (v).bb, to_json(v) from r2
drop table r
drop table r2
create domain dd as c2 check ((value).a > 0)
select '(1,x)'::dd, (row(2,'y')::dd)
select '(-1,x)'::dd
create table td (d dd)
insert into td values ('(5,k)')
insert into td values ('(0,k)')
select (d).a, d from td
drop table td
drop domain dd
create unique index ti on t (v)
insert into t values (3,'(1,a)')
create index tb on t (((v).a))
select id from t where v = row(1,'a')::c2
select id from t where (v).a = 1
select column_name, data_type, udt_name from information_schema.columns where table_name='t' order by ordinal_position
select typname, typtype, typcategory, typelem::regtype, typarray::regtype from pg_type where typname in ('c2','_c2') order by 1
drop table t
drop table r
drop type c3
drop type c2
select 1 as x where row(row(1)) in (select row(1));
select 1 as x where row(row(2)) in (select row(1));
copy (merge into pg_temp.nothing using pg_temp.nothing2 on true when matched then delete) to stdout;
