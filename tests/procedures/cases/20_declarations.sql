create table t (id int primary key, name varchar(10), price numeric(6,2));
insert into t values (1, 'one', 1.50);
create procedure p(start int) language plpgsql as $$
declare
  a int;
  b int := start + 1;
  c int default b * 2;
  d text = 'text';
  e constant numeric(4,1) := 1.25;
  f boolean not null := true;
  g t.name%type := 'copied';
  h t%rowtype;
  i g%type;
  j record;
  k int[] := '{1,2}';
  l varchar(5) collate "C" := 'abc';
  m timestamp := '2026-01-02 03:04';
  n char(3) := 'x';
begin
  raise notice '% % % % % % % % % % % % [%]', a, b, c, d, e, f, g, h, i, k, l, m, n;
  select * into h from t;
  j := h;
  raise notice '% % %', h.id, h.name, j.price;
end $$;
call p(1);
call p(null);
