create procedure p(a int)language plpgsql as $_$
-- a comment first; with a semicolon
<<l>>declare x int:=1;/* and /* nested */ one */y text:='-- not a comment';z text:='a''b';begin
if a>0 then x:=x+a;else x:=-a;end if;-- at the end
RAISE NOTICE'% % %',x,y,
  z;
Raise
  Notice '/* nor this */ %',$$it's$$;
for i in 1..2 loop raise notice'%',i;end loop;
END l;$_$;
call p(1);
call p ( -1 );
CALL P(0);
