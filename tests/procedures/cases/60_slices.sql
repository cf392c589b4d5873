-- Slices at and beyond an array's ends, and elements of arrays with a length.
create procedure reads(a int[]) language plpgsql as $$
begin
  raise notice '% % %', a[1:2], a[2:], a[:];
  raise notice '% % %', a[3:2], a[0:1], a[2:99];
  raise notice '% %', a[null:2], a[1:null];
end $$;
call reads('{1,2,3}');
call reads('{}');
call reads(null);
create procedure writes() language plpgsql as $$
declare
  a int[] := '{1,2,3}';
  b int[];
begin
  a[2:3] := '{7,8,9}'; raise notice '%', a;
  a[3:5] := array[a[1], 5, 6]; raise notice '%', a;
  a[2:2] := null::int[]; raise notice '%', a;
  b[1:2] := '{1,2}'; raise notice '%', b;
  a[1:3] := '{1}';
end $$;
call writes();
create procedure backwards() language plpgsql as $$ declare a int[] := '{1,2,3}'; begin a[3:2] := '{1,2}'; end $$;
call backwards();
create procedure of_null() language plpgsql as $$ declare a int[] := '{1,2,3}'; begin a[null:2] := '{1,2}'; end $$;
call of_null();
create procedure lengths() language plpgsql as $$
declare
  a varchar(3)[] := '{abc,de}';
  b numeric(4,1)[];
begin
  b[1] := 2.25; b := b || 3.33; raise notice '% %', a, b;
  a[3] := 'four';
end $$;
call lengths();
create table t (id int primary key, v numeric(5,2)[], w varchar(3)[]);
insert into t values (1, '{1.234,5}', '{abc}');
insert into t values (2, null, '{abcd}');
select v, w, v[1:1], ('{1.255}'::numeric(3,2)[])[1] from t;
