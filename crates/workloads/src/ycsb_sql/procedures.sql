-- One transaction of several operations: reads, then writes that do not look, then reads with a write after
-- each. Answers how many counters it has moved on, and how many bytes it has read.
CREATE OR REPLACE PROCEDURE ycsb(
    in_reads bigint[],
    in_updates bigint[],
    in_modifies bigint[],
    in_value text,
    OUT out_change bigint,
    OUT out_bytes bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_counter usertable.y_counter%TYPE;
    v_value usertable.y_value%TYPE;
BEGIN
    out_bytes := 0;
    FOR i IN 1..cardinality(in_reads) LOOP
        SELECT y_value INTO STRICT v_value FROM usertable WHERE y_id = in_reads[i];
        out_bytes := out_bytes + length(v_value);
    END LOOP;
    FOR i IN 1..cardinality(in_updates) LOOP
        UPDATE usertable SET y_value = in_value WHERE y_id = in_updates[i];
    END LOOP;
    FOR i IN 1..cardinality(in_modifies) LOOP
        SELECT y_counter, y_value INTO STRICT v_counter, v_value
        FROM usertable
        WHERE y_id = in_modifies[i];
        out_bytes := out_bytes + length(v_value);
        UPDATE usertable SET y_counter = v_counter + 1, y_value = in_value WHERE y_id = in_modifies[i];
    END LOOP;
    out_change := cardinality(in_modifies);
END
$$;

-- The same, taken back at its end.
CREATE OR REPLACE PROCEDURE ycsb_raised(
    in_reads bigint[],
    in_updates bigint[],
    in_modifies bigint[],
    in_value text
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_change bigint;
    v_bytes bigint;
BEGIN
    CALL ycsb(in_reads, in_updates, in_modifies, in_value, v_change, v_bytes);
    RAISE EXCEPTION 'taken back after % changes', v_change;
END
$$;
