-- One transaction of several operations in the order given: where in_values has 0, a list is read, elsewhere
-- the value is appended to it. Answers what was read: values with commas, a semicolon after each list.
CREATE OR REPLACE PROCEDURE append_lists(in_lists bigint[], in_values bigint[], OUT out_read text)
LANGUAGE plpgsql
AS $$
DECLARE
    v_values bigint[];
BEGIN
    out_read := '';
    FOR i IN 1..cardinality(in_lists) LOOP
        IF in_values[i] = 0 THEN
            SELECT l_values INTO v_values FROM append_list WHERE l_id = in_lists[i];
            IF FOUND THEN
                out_read := out_read || array_to_string(v_values, ',');
            END IF;
            out_read := out_read || ';';
        ELSE
            INSERT INTO append_list AS l (l_id, l_values)
            VALUES (in_lists[i], array_append('{}'::bigint[], in_values[i]))
            ON CONFLICT (l_id) DO UPDATE SET l_values = array_append(l.l_values, in_values[i]);
        END IF;
    END LOOP;
END
$$;
