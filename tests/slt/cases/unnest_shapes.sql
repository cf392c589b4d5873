-- Arrays side by side count their elements, whatever their dimensions and bounds are.
select * from unnest(array[[1,2,3],[4,5,6]], array['a','b']) u(x, y);
select * from unnest('[0:2]={1,2,3}'::int[], '[-1:0][2:3]={{1,2},{3,4}}'::int[]) u(x, y);
select * from unnest(null::int[], '[5:6]={1,2}'::int[]) with ordinality;
select unnest('[0:1]={1,2}'::int[]), unnest(array[[5,6],[7,8]]), generate_series(1, 2);
select unnest(array[[1],[2]]) as a, unnest('[3:3]={x}'::text[]) as b;
