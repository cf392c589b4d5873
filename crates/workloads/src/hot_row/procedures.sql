-- Each answers how many counters it has moved on by one.

CREATE OR REPLACE PROCEDURE hot_first(in_hot int, in_cold int[], OUT out_change bigint)
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE hot SET h_total = h_total + 1 WHERE h_id = in_hot;
    FOR i IN 1..cardinality(in_cold) LOOP
        UPDATE cold SET c_total = c_total + 1 WHERE c_id = in_cold[i];
    END LOOP;
    out_change := 1 + cardinality(in_cold);
END
$$;

CREATE OR REPLACE PROCEDURE hot_last(in_hot int, in_cold int[], OUT out_change bigint)
LANGUAGE plpgsql
AS $$
BEGIN
    FOR i IN 1..cardinality(in_cold) LOOP
        UPDATE cold SET c_total = c_total + 1 WHERE c_id = in_cold[i];
    END LOOP;
    UPDATE hot SET h_total = h_total + 1 WHERE h_id = in_hot;
    out_change := 1 + cardinality(in_cold);
END
$$;

CREATE OR REPLACE PROCEDURE hot_none(in_cold int[], OUT out_change bigint)
LANGUAGE plpgsql
AS $$
BEGIN
    FOR i IN 1..cardinality(in_cold) LOOP
        UPDATE cold SET c_total = c_total + 1 WHERE c_id = in_cold[i];
    END LOOP;
    out_change := cardinality(in_cold);
END
$$;
