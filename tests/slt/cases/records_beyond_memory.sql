-- Rows of functions that give several columns, where memory has no room for them: sorted, grouped, kept.
set work_mem = '64kB';
select count(*), max(n), min(x) from (select g, x, n from generate_series(1, 3000) g, unnest(array['p', 'q', g::text]) with ordinality t(x, n) order by x, g offset 1) q;
select count(*), sum(c) from (select x, n, g, count(*) c from generate_series(1, 3000) g, unnest(array['p', 'q', g::text]) with ordinality t(x,n) group by x, n, g) q;
select count(*), min(x) from (select distinct x, n from generate_series(1, 3000) g, unnest(array['p', 'q', g::text]) with ordinality t(x,n)) q;
select count(*), max(value) from (select key, value from generate_series(1, 3000) g, jsonb_each_text(jsonb_build_object('a', g, 'b', -g)) order by key, value offset 1) q;
reset work_mem;
