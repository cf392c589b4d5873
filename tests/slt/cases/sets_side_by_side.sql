-- Sets side by side: the shorter ones are filled up with NULLs.
select generate_series(1, 2), jsonb_object_keys('{"a":1}');
select generate_series(1, 3) as n, unnest(array['a', 'b']) as w, generate_series(1, 2) * 10;
select x, generate_series(1, x), generate_series(x, 2) from (values (1), (3)) v (x) order by 1, 2;
select * from rows from (generate_series(1, 3), unnest(array['a', 'b'])) as t (n, w);
select * from rows from (generate_series(1, 2), generate_series(5, 5)) with ordinality;
