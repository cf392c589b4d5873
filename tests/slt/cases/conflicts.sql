create table g (id int primary key, a int, u int unique)
-- a row that the same command has written, whether it would be written again or not
insert into g values (6, 1, 2), (7, 6, 2) on conflict (u) do update set a = g.a + 3 where excluded.u = 0
insert into g values (6, 1, 2), (7, 6, 2) on conflict (u) do update set a = g.a + 3
insert into g values (6, 1, 2), (7, 6, 2) on conflict do nothing returning id
insert into g values (8, 4, 2), (9, 5, 2) on conflict (u) do update set a = excluded.a where g.a > 9 returning id
insert into g values (8, 4, 2), (9, 5, 2) on conflict (u) do update set a = excluded.a where excluded.a = 5 returning id, a
insert into g values (8, 5, 2), (9, 4, 2) on conflict (u) do update set a = excluded.a where excluded.a = 5 returning id, a
select * from g order by id
