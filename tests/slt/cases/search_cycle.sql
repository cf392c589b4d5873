create table graph0 (f int, t int, label text)
insert into graph0 values (1, 2, 'arc 1 -> 2'), (1, 3, 'arc 1 -> 3'), (2, 3, 'arc 2 -> 3'), (1, 4, 'arc 1 -> 4'), (4, 5, 'arc 4 -> 5')
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set seq select * from sg order by seq
with recursive sg(f, t, label) as (select * from graph0 g union select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set seq select * from sg order by seq, label
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search breadth first by f, t set seq select * from sg order by seq
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search breadth first by f, t set seq select * from sg order by seq, f, t
insert into graph0 values (5, 1, 'arc 5 -> 1')
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) cycle f, t set is_cycle using path select * from sg order by path
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) cycle f, t set is_cycle to 'Y' default 'N' using path select * from sg order by path, is_cycle
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set seq cycle f, t set is_cycle using path select * from sg order by seq, path
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search breadth first by f, t set seq cycle f, t set is_cycle using path select f, t, is_cycle, path from sg order by path
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t and not is_cycle) cycle f, t set is_cycle using path select f, t, label, is_cycle from sg order by path
with recursive test as (select 0 as x union all select (x + 1) % 10 from test) cycle x set is_cycle using path select x, is_cycle, path from test
with recursive test as (select 0 as x union all select (x + 1) % 10 from test where not is_cycle) cycle x set is_cycle using path select * from test
with recursive test as (select 1 as x union all select x + 1 from test where x < 5) search depth first by x set y select * from test order by y
with recursive test as (select 1 as x union all select t.x + 1 from test t where x < 5) search breadth first by x set y select * from test limit 5
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g join sg on g.f = sg.t) cycle f set c to 1 default 0 using p select count(*), max(c) from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by foo, tar set seq select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set label select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t, f set seq select * from sg
with recursive sg(f, t, label) as (select * from graph0 union all select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set seq select * from sg order by seq
with recursive sg(f, t, label) as (select * from graph0 g union all (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t)) search depth first by f, t set seq select * from sg order by seq
with x as (select 1 as c) search depth first by c set seq select * from x
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) cycle foo, tar set is_cycle using path select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) cycle f, t set is_cycle to true default 55 using path select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) cycle f, t set foo to true default false using foo select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from graph0 g, sg where g.f = sg.t) search depth first by f, t set foo cycle f, t set foo to true default false using path select * from sg
with recursive sg(f, t, label) as (select * from graph0 g union all select g.* from (select g.* from graph0 g, sg where g.f = sg.t) g) search depth first by f, t set seq select * from sg
with recursive a as (select 1 as b union all select * from a) cycle b set c using p select * from a
drop table graph0
