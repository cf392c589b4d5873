create table t (id int primary key, "Mixed" int);
create procedure P(Arg INT, "Arg" int) language PLPGSQL as $$
DECLARE
  Total INT := 0;
  "Total" int := 100;
BEGIN
  TOTAL := total + ARG;
  "Total" := "Total" + "Arg";
  INSERT INTO T VALUES (arg, "Total") RETURNING "Mixed" INTO Total;
  RAISE NOTICE '% %', total, "Total";
EXCEPTION WHEN Unique_Violation THEN
  RAISE NOTICE '%', SqlState;
END $$;
call p(1, 2);
Call P(1, 2);
select * from t;
