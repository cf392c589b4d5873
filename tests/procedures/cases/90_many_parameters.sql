create procedure p(
  a01 int, a02 int, a03 int, a04 int, a05 int, a06 int, a07 int, a08 int, a09 int, a10 int,
  a11 int, a12 int, a13 int, a14 int, a15 int, a16 int, a17 int, a18 int, a19 int, a20 int,
  inout b01 int, inout b02 int, inout b03 int, inout b04 int, inout b05 int, inout b06 int, inout b07 int, inout b08 int,
  inout b09 int default 9, inout b10 int default 10, inout b11 int default 11, inout b12 int default 12
) language plpgsql as $$
begin
  b01 := a01 + a20;
  b12 := a02 + a03 + a04 + a05 + a06 + a07 + a08 + a09 + a10 + a11 + a12 + a13 + a14 + a15 + a16 + a17 + a18 + a19;
  b05 := null;
end $$;
call p(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1, 2, 3, 4, 5, 6, 7, 8);
call p(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1, 2, 3, 4, 5, 6, 7, 8, b11 => 0);
