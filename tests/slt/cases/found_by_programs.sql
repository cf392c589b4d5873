create table made (id int primary key, a int, b int generated always as (a * 2) stored, c text)
create table told (what text, who int, old_b int, new_b int, whole text)
create function tell() returns trigger language plpgsql as $$ begin insert into told values (tg_when || ' ' || tg_op, new.id, case tg_op when 'UPDATE' then old.b end, new.b, new::text); new.a = coalesce(new.a, 0) + 1; return new; end $$
create trigger x before insert or update on made for each row execute function tell()
create trigger y after insert or update on made for each row execute function tell()
insert into made values (1, 5)
update made set c = 'x'
update made set a = 9 returning *
insert into made values (1, 5) on conflict (id) do update set c = 'z' returning *
merge into made using (values (1)) v(n) on id = n when matched then update set c = 'm'
select * from made
select * from told order by what, whole
drop table made, told
drop function tell()
create table told (what text)
create function tell() returns trigger language plpgsql as $$ begin insert into told values (tg_op || coalesce(new.id, old.id)); if tg_op = 'DELETE' then return old; end if; return new; end $$
create table a (id int primary key, v int)
create table f (k int, n int)
insert into a select n, 0 from generate_series(1, 9) n
insert into f values (1, 1), (2, 2), (1, 3), (2, 4), (3, 5), (1, 6)
create trigger g after insert or update or delete on a for each row execute function tell()
update a set v = a.v + 1 from f where f.k = a.id
select * from a order by id
select what, count(*) from told group by what order by what
update a set v = a.v + 1 from generate_series(1, 3) s, f where f.k = a.id and f.n in (1, 2, 3) returning a.id > 0
select what, count(*) from told group by what order by what
update a set v = a.v + 1 from f left join generate_series(1, 2) s on true where coalesce(f.k, s) = a.id
select * from a order by id
delete from a using f where f.k = a.id and f.k < 3
select what, count(*) from told group by what order by what
insert into a values (11, 1), (12, 1), (11, 2) on conflict (id) do update set v = excluded.v
insert into a values (11, 1), (12, 1), (11, 2) on conflict (id) do update set v = excluded.v where false returning id
insert into a values (4, 1), (5, 1), (4, 2) on conflict (id) do update set v = excluded.v returning id
insert into a select n % 3, n from generate_series(1, 5) n on conflict (id) do update set v = excluded.v
insert into a values (5, 1), (4, 1), (5, 2), (4, 3) on conflict (id) do nothing
insert into a values (5, 1), (4, 1), (null, 2) on conflict (id) do update set v = excluded.v
insert into a values (5, 1), (4, 1), (13, 2) on conflict (id) do update set v = excluded.v where a.v = 0 returning *
select * from a order by id
alter table a add column w text
create unique index on a (v, w)
insert into a values (21, 50, 'x'), (22, 50, 'y'), (23, 50, 'x') on conflict (v, w) do update set w = 'z'
insert into a values (21, 50, null), (22, 50, 'y'), (23, 50, null) on conflict (v, w) do update set w = 'z' returning *
drop table a, f, told
drop function tell()
create table p (id int primary key, v int, t text)
insert into p select n, 0, 'x' from generate_series(1, 10) n
prepare before_it as update p set v = v + 1 where v < 5 and t = 'x'
execute before_it
create function same() returns trigger language plpgsql as $$ begin new.t = 'y'; return new; end $$
create trigger g before update on p for each row execute function same()
execute before_it
select count(*), sum(v), max(t) from p
deallocate before_it
drop table p
drop function same()
create type mark as enum ('low', 'high')
create type couple as (n int, t text)
create table held (id int primary key, m mark[], c couple, cs couple[])
create function same() returns trigger language plpgsql as $$ begin return new; end $$
create trigger g after insert or update on held for each row execute function same()
insert into held values (1, '{low,high}', '(1,"x,y")', '{"(1,a)",NULL}'), (2, '{low,NULL}', null, '{}'), (3, null, '(,)', null) returning *
update held set m = m || 'high'::mark returning m, c, cs
with x as (update held set c = row(7, 'z') returning *) select m, c, cs from x order by id
drop table held
drop function same()
drop type mark, couple
create table aged (a int, b varchar, c text)
insert into aged values (1, 'x', 'y')
alter table aged add constraint later check (a > 5) not valid
alter table aged alter column b type int using 3
create function half(n int) returns int language sql immutable as 'select n / 2'
create index on aged (half(a))
select * from aged
insert into aged values (2, 3, 'z')
alter table aged validate constraint later
drop table aged
create table wide (id int, nr int, t text, primary key (id, nr)) partition by hash (id)
create table wide_0 partition of wide for values with (modulus 2, remainder 0)
create table wide_1 partition of wide for values with (modulus 2, remainder 1)
create index on wide (id nulls first, (reverse(t)))
create index on wide (lower(t)) where nr > 1
create index on wide (half(nr), t)
alter table wide detach partition wide_1
select relname from pg_class where relname like 'wide%' and relkind in ('i', 'I') order by 1
drop table wide, wide_1
drop function half(int)
create table twice (a int, b int[], primary key (a, a))
create table twice (a int, unique (a, a))
create table twice (a int, b int[], c boolean generated always as (array[[1, 2], [3, 4]] @> b) stored)
create index on twice ((array[[1, 2], [3, 4]] @> b))
insert into twice values (1, '{2,3}'), (2, '{7}') returning *
drop table twice
