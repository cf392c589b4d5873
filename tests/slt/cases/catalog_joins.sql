create table cjo_p(id serial primary key);
create table cjo_q(id serial primary key, ref int references cjo_p);
select k.conname, a.attname, b.attname from (select unnest(c.conkey) own, unnest(c.confkey) other, c.confrelid, c.conrelid, c.conname from pg_class r join pg_namespace n on r.relnamespace = n.oid join pg_constraint c on c.conrelid = r.oid where c.contype = 'f' and n.nspname = 'public' and r.relname = 'cjo_q') k join pg_attribute b on b.attrelid = k.confrelid and b.attnum = k.other join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.own;
drop table cjo_q;
drop table cjo_p;
