-- TPC-C's five transactions (specification 5.11, clauses 2.4 to 2.8) as PL/pgSQL.
--
-- What a terminal would print and the client has not sent itself is answered in part: addresses and
-- the single lines of an order are read, as the specification asks, but not sent back.
-- Names: in_ what is passed, out_ what is answered, v_ what is only used inside.

-- Clause 2.4. An unused item in the list refuses the order with TPC01.
CREATE OR REPLACE PROCEDURE new_order(
    in_w_id int,
    in_d_id int,
    in_c_id int,
    in_item_ids int[],
    in_supply_w_ids int[],
    in_quantities int[],
    OUT out_o_id int,
    OUT out_total numeric,
    OUT out_last varchar,
    OUT out_credit varchar,
    OUT out_discount numeric,
    OUT out_brand_lines int
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_lines int := array_length(in_item_ids, 1);
    v_all_local int := 1;
    v_w_tax warehouse.w_tax%TYPE;
    v_d_tax district.d_tax%TYPE;
    v_price item.i_price%TYPE;
    v_item_name item.i_name%TYPE;
    v_item_data item.i_data%TYPE;
    v_stock_quantity stock.s_quantity%TYPE;
    v_stock_data stock.s_data%TYPE;
    v_dist_info stock.s_dist_01%TYPE;
    v_amount order_line.ol_amount%TYPE;
    v_sum numeric := 0;
BEGIN
    out_brand_lines := 0;
    FOR i IN 1..v_lines LOOP
        IF in_supply_w_ids[i] <> in_w_id THEN
            v_all_local := 0;
        END IF;
    END LOOP;

    SELECT w_tax INTO STRICT v_w_tax
    FROM warehouse
    WHERE w_id = in_w_id;

    UPDATE district
    SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = in_w_id AND d_id = in_d_id
    RETURNING d_next_o_id - 1, d_tax INTO out_o_id, v_d_tax;

    SELECT c_discount, c_last, c_credit INTO STRICT out_discount, out_last, out_credit
    FROM customer
    WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, out_o_id, in_c_id, localtimestamp, NULL, v_lines, v_all_local);

    INSERT INTO new_order (no_w_id, no_d_id, no_o_id)
    VALUES (in_w_id, in_d_id, out_o_id);

    FOR i IN 1..v_lines LOOP
        SELECT i_price, i_name, i_data INTO v_price, v_item_name, v_item_data
        FROM item
        WHERE i_id = in_item_ids[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item number % is not valid', in_item_ids[i] USING ERRCODE = 'TPC01';
        END IF;

        UPDATE stock
        SET s_quantity = CASE
                WHEN s_quantity - in_quantities[i] >= 10 THEN s_quantity - in_quantities[i]
                ELSE s_quantity - in_quantities[i] + 91
            END,
            s_ytd = s_ytd + in_quantities[i],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN in_supply_w_ids[i] <> in_w_id THEN 1 ELSE 0 END
        WHERE s_w_id = in_supply_w_ids[i] AND s_i_id = in_item_ids[i]
        RETURNING s_quantity, s_data, CASE in_d_id
                WHEN 1 THEN s_dist_01
                WHEN 2 THEN s_dist_02
                WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05
                WHEN 6 THEN s_dist_06
                WHEN 7 THEN s_dist_07
                WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09
                ELSE s_dist_10
            END
        INTO v_stock_quantity, v_stock_data, v_dist_info;

        IF v_item_data LIKE '%ORIGINAL%' AND v_stock_data LIKE '%ORIGINAL%' THEN
            out_brand_lines := out_brand_lines + 1;
        END IF;

        v_amount := v_price * in_quantities[i];
        v_sum := v_sum + v_amount;

        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                                ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        VALUES (in_w_id, in_d_id, out_o_id, i, in_item_ids[i], in_supply_w_ids[i],
                NULL, in_quantities[i], v_amount, v_dist_info);
    END LOOP;

    out_total := round(v_sum * (1 - out_discount) * (1 + v_w_tax + v_d_tax), 2);
END
$$;

-- Clause 2.5. Without in_c_id the customer is the middle one of those called in_c_last.
CREATE OR REPLACE PROCEDURE payment(
    in_w_id int,
    in_d_id int,
    in_c_w_id int,
    in_c_d_id int,
    in_c_id int,
    in_c_last text,
    in_amount numeric,
    OUT out_c_id int,
    OUT out_first varchar,
    OUT out_last varchar,
    OUT out_credit varchar,
    OUT out_credit_lim numeric,
    OUT out_discount numeric,
    OUT out_balance numeric
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_w_name warehouse.w_name%TYPE;
    v_w_street_1 warehouse.w_street_1%TYPE;
    v_w_street_2 warehouse.w_street_2%TYPE;
    v_w_city warehouse.w_city%TYPE;
    v_w_state warehouse.w_state%TYPE;
    v_w_zip warehouse.w_zip%TYPE;
    v_d_name district.d_name%TYPE;
    v_d_street_1 district.d_street_1%TYPE;
    v_d_street_2 district.d_street_2%TYPE;
    v_d_city district.d_city%TYPE;
    v_d_state district.d_state%TYPE;
    v_d_zip district.d_zip%TYPE;
    v_namesakes bigint;
    v_data text;
BEGIN
    UPDATE warehouse
    SET w_ytd = w_ytd + in_amount
    WHERE w_id = in_w_id
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip;

    UPDATE district
    SET d_ytd = d_ytd + in_amount
    WHERE d_w_id = in_w_id AND d_id = in_d_id
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip;

    IF in_c_id IS NULL THEN
        SELECT count(*) INTO v_namesakes
        FROM customer
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last;

        SELECT c_id INTO STRICT out_c_id
        FROM customer
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last
        ORDER BY c_first, c_id
        LIMIT 1 OFFSET (v_namesakes + 1) / 2 - 1;
    ELSE
        out_c_id := in_c_id;
    END IF;

    UPDATE customer
    SET c_balance = c_balance - in_amount,
        c_ytd_payment = c_ytd_payment + in_amount,
        c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id
    RETURNING c_first, c_last, c_credit, c_credit_lim, c_discount, c_balance, c_data
    INTO out_first, out_last, out_credit, out_credit_lim, out_discount, out_balance, v_data;

    IF out_credit = 'BC' THEN
        UPDATE customer
        SET c_data = substr(out_c_id || ' ' || in_c_d_id || ' ' || in_c_w_id || ' ' || in_d_id || ' '
                            || in_w_id || ' ' || in_amount || ' | ' || v_data, 1, 500)
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id;
    END IF;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (out_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, localtimestamp, in_amount,
            v_w_name || '    ' || v_d_name);
END
$$;

-- Clause 2.6. Without in_c_id the customer is the middle one of those called in_c_last.
CREATE OR REPLACE FUNCTION order_status(
    in_w_id int,
    in_d_id int,
    in_c_id int,
    in_c_last text,
    OUT out_c_id int,
    OUT out_first varchar,
    OUT out_last varchar,
    OUT out_balance numeric,
    OUT out_o_id int,
    OUT out_entry_d timestamp,
    OUT out_carrier_id int,
    OUT out_lines int,
    OUT out_amount numeric
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_namesakes bigint;
    v_line record;
BEGIN
    IF in_c_id IS NULL THEN
        SELECT count(*) INTO v_namesakes
        FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last;

        SELECT c_id, c_first, c_last, c_balance INTO STRICT out_c_id, out_first, out_last, out_balance
        FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last
        ORDER BY c_first, c_id
        LIMIT 1 OFFSET (v_namesakes + 1) / 2 - 1;
    ELSE
        SELECT c_id, c_first, c_last, c_balance INTO STRICT out_c_id, out_first, out_last, out_balance
        FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;
    END IF;

    SELECT o_id, o_entry_d, o_carrier_id INTO out_o_id, out_entry_d, out_carrier_id
    FROM orders
    WHERE o_w_id = in_w_id AND o_d_id = in_d_id AND o_c_id = out_c_id
    ORDER BY o_id DESC
    LIMIT 1;

    out_lines := 0;
    out_amount := 0;
    FOR v_line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        FROM order_line
        WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = out_o_id
    LOOP
        out_lines := out_lines + 1;
        out_amount := out_amount + v_line.ol_amount;
    END LOOP;
END
$$;

-- Clause 2.7, all ten districts in one transaction. A district without an undelivered order is skipped,
-- and so is one whose oldest was taken by a concurrent delivery (possible at READ COMMITTED only).
CREATE OR REPLACE PROCEDURE delivery(
    in_w_id int,
    in_carrier_id int,
    OUT out_delivered int
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_o_id int;
    v_c_id int;
    v_sum numeric;
BEGIN
    out_delivered := 0;
    FOR v_d_id IN 1..10 LOOP
        SELECT no_o_id INTO v_o_id
        FROM new_order
        WHERE no_w_id = in_w_id AND no_d_id = v_d_id
        ORDER BY no_o_id
        LIMIT 1;
        IF FOUND THEN
            DELETE FROM new_order
            WHERE no_w_id = in_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
            IF FOUND THEN
                UPDATE orders
                SET o_carrier_id = in_carrier_id
                WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id
                RETURNING o_c_id INTO v_c_id;

                UPDATE order_line
                SET ol_delivery_d = localtimestamp
                WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;

                SELECT sum(ol_amount) INTO v_sum
                FROM order_line
                WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;

                UPDATE customer
                SET c_balance = c_balance + v_sum,
                    c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = in_w_id AND c_d_id = v_d_id AND c_id = v_c_id;

                out_delivered := out_delivered + 1;
            END IF;
        END IF;
    END LOOP;
END
$$;

-- Clause 2.8.
CREATE OR REPLACE FUNCTION stock_level(
    in_w_id int,
    in_d_id int,
    in_threshold int
)
RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    v_next_o_id int;
    v_low bigint;
BEGIN
    SELECT d_next_o_id INTO STRICT v_next_o_id
    FROM district
    WHERE d_w_id = in_w_id AND d_id = in_d_id;

    SELECT count(DISTINCT s_i_id) INTO v_low
    FROM order_line, stock
    WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id
      AND ol_o_id >= v_next_o_id - 20 AND ol_o_id < v_next_o_id
      AND s_w_id = in_w_id AND s_i_id = ol_i_id AND s_quantity < in_threshold;

    RETURN v_low;
END
$$;
