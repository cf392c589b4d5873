create procedure p(name text, at timestamp) language plpgsql as $$
declare
  d date := at;
  n int;
begin
  raise notice '% % %', upper(name), length(name), substr(name, 2, 2);
  raise notice '% %', replace(name, 'a', 'b') || '!', lpad(name, 8, '*');
  raise notice '% % %', position('n' in name), trim('  x '), split_part('a,b,c', ',', 2);
  raise notice '% %', extract(year from at), date_trunc('hour', at);
  raise notice '% %', d + 1, d - date '2026-01-01';
  n := extract(day from d); raise notice '%', n;
  raise notice '% %', name like 'a%', name ~ '^a.n';
  raise notice '%', md5(name);
end $$;
call p('anna', '2026-02-28 13:14:15');
