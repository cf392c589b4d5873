create procedure p(a int, b int default 10, c text default 'x' || 'y') language plpgsql as $$
begin
  raise notice '% % %', a, b, c;
end $$;
call p(1);
call p(1, 2);
call p(1, 2, 'z');
call p(1, c => 'named');
call p(c => 'c', a => 5);
call p(1, c := 'older form');
call p(b => 1);
call p();
call p(1, a => 2);
call p(1, d => 2);
call p(a => 1, 2);
call p(1, null, null);
create function f(a int default 1, b int default 2) returns int language plpgsql as $$ begin return a * 10 + b; end $$;
select f(), f(5), f(5, 6), f(b => 7), f(b => 1, a => 2);
select f(c => 1);
create function g(a int default 1, b int) returns int language plpgsql as $$ begin return a; end $$;
create function g(a int default 'x') returns int language plpgsql as $$ begin return a; end $$;
