-- TPC-E's ten transactions of customers, brokers and the market (specification 1.14, clauses 3.3.1 to 3.3.10) as
-- PL/pgSQL, reduced to what decides which of them conflict: which rows they find by what, and what they write.
--
-- Left out: Data-Maintenance and Trade-Cleanup, as in the Gargamel thesis; what is computed of the rows that are read
-- (taxes, commissions and sums are stood in for by a column or a constant); lists that are only sent back.
-- Changed: the number of a new trade is drawn before the call and passed to it, for two calls that draw from a
-- sequence inside would seem to insert one key; limit orders that a price triggers are not sent to the market
-- by Market-Feed (its updates of their trades, which are found by price, would conflict with every Trade-Result and
-- every Market-Feed; the thesis has no such conflict).
-- Names: in_ what is passed, out_ what is answered, v_ what is only used inside.

-- Clause 3.3.1. What brokers of a list have to do in an industry.
CREATE PROCEDURE broker_volume(in_brokers bigint[], in_industry int, OUT out_volume numeric)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT sum(tr_qty * tr_bid_price) INTO out_volume
    FROM trade_request
    JOIN security ON s_symb = tr_s_symb
    WHERE tr_b_id = ANY (in_brokers) AND s_in_id = in_industry;
END
$$;

-- Clause 3.3.2. Cash and assets of a customer's accounts.
CREATE PROCEDURE customer_position(in_c_id bigint, OUT out_cash numeric, OUT out_assets numeric)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT sum(ca_bal) INTO out_cash
    FROM customer_account
    WHERE ca_c_id = in_c_id;

    SELECT sum(hs_qty * lt_price) INTO out_assets
    FROM customer_account
    JOIN holding_summary ON hs_ca_id = ca_id
    JOIN last_trade ON lt_s_symb = hs_s_symb
    WHERE ca_c_id = in_c_id;
END
$$;

-- Clause 3.3.3. Prices of twenty securities have come in.
CREATE PROCEDURE market_feed(in_symbols bigint[], in_prices numeric[], in_quantities int[])
LANGUAGE plpgsql
AS $$
DECLARE
    v_count int := array_length(in_symbols, 1);
BEGIN
    FOR i IN 1..v_count LOOP
        UPDATE last_trade
        SET lt_price = in_prices[i], lt_vol = lt_vol + in_quantities[i], lt_dts = localtimestamp
        WHERE lt_s_symb = in_symbols[i];
    END LOOP;
END
$$;

-- Clause 3.3.4. What the securities that a customer watches are worth.
CREATE PROCEDURE market_watch(in_c_id bigint, OUT out_value numeric)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT sum(s_num_out * lt_price) INTO out_value
    FROM watch_item
    JOIN security ON s_symb = wi_s_symb
    JOIN last_trade ON lt_s_symb = wi_s_symb
    WHERE wi_c_id = in_c_id;
END
$$;

-- Clause 3.3.5. A security.
CREATE PROCEDURE security_detail(in_symbol bigint, OUT out_price numeric)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT lt_price INTO out_price
    FROM security
    JOIN last_trade ON lt_s_symb = s_symb
    WHERE s_symb = in_symbol;
END
$$;

-- Clause 3.3.6. Its frames: trades of a list, of an account, or of a security.
CREATE PROCEDURE trade_lookup(in_frame int, in_trades bigint[], in_account bigint, in_symbol bigint, OUT out_count int)
LANGUAGE plpgsql
AS $$
BEGIN
    IF in_frame = 1 THEN
        SELECT count(*) INTO out_count FROM trade WHERE t_id = ANY (in_trades);
    ELSIF in_frame = 2 THEN
        SELECT count(*) INTO out_count
        FROM trade
        JOIN settlement ON se_ca_id = t_ca_id AND se_t_id = t_id
        WHERE t_ca_id = in_account;
    ELSE
        SELECT count(*) INTO out_count
        FROM trade
        JOIN cash_transaction ON ct_s_symb = t_s_symb AND ct_t_id = t_id
        WHERE t_s_symb = in_symbol;
    END IF;
END
$$;

-- Clause 3.3.7. An order to buy or sell; a limit order waits for its price.
CREATE PROCEDURE trade_order(
    in_trade bigint,
    in_account bigint,
    in_symbol bigint,
    in_quantity int,
    in_price numeric,
    in_sale boolean,
    in_limit boolean
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_broker bigint;
    v_held int;
BEGIN
    SELECT ca_b_id INTO STRICT v_broker FROM customer_account WHERE ca_id = in_account;
    SELECT hs_qty INTO v_held
    FROM holding_summary
    WHERE hs_ca_id = in_account AND hs_s_symb = in_symbol;

    INSERT INTO trade (t_id, t_dts, t_st_id, t_ca_id, t_s_symb, t_qty, t_bid_price, t_is_sale, t_is_cash,
                       t_exec_name, t_trade_price, t_tax, t_comm)
    VALUES (in_trade, localtimestamp, 1, in_account, in_symbol, in_quantity, in_price, in_sale, true,
            'nobody', NULL, 0, 0);
    IF in_limit THEN
        INSERT INTO trade_request (tr_t_id, tr_s_symb, tr_b_id, tr_qty, tr_bid_price)
        VALUES (in_trade, in_symbol, v_broker, in_quantity, in_price);
    END IF;
    INSERT INTO trade_history (th_t_id, th_st_id, th_dts) VALUES (in_trade, 1, localtimestamp);
END
$$;

-- Clause 3.3.8, frames 2 to 6: not called by itself.
CREATE PROCEDURE complete_trade(
    in_trade bigint,
    in_price numeric,
    in_account bigint,
    in_broker bigint,
    in_symbol bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_quantity int;
    v_sale boolean;
    v_cash boolean;
    v_held int;
    v_amount numeric;
BEGIN
    SELECT t_qty, t_is_sale, t_is_cash INTO STRICT v_quantity, v_sale, v_cash
    FROM trade
    WHERE t_id = in_trade;
    v_amount := v_quantity * in_price;

    SELECT hs_qty INTO v_held
    FROM holding_summary
    WHERE hs_ca_id = in_account AND hs_s_symb = in_symbol;
    IF v_sale THEN
        v_quantity := -v_quantity;
        UPDATE holding SET h_qty = 0
        WHERE h_ca_id = in_account AND h_s_symb = in_symbol;
    END IF;
    IF v_held IS NULL THEN
        INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (in_account, in_symbol, v_quantity);
    ELSE
        UPDATE holding_summary SET hs_qty = hs_qty + v_quantity
        WHERE hs_ca_id = in_account AND hs_s_symb = in_symbol;
    END IF;
    INSERT INTO holding (h_ca_id, h_s_symb, h_t_id, h_qty) VALUES (in_account, in_symbol, in_trade, v_quantity);

    UPDATE trade
    SET t_dts = localtimestamp, t_st_id = 2, t_trade_price = in_price, t_tax = v_amount / 10, t_comm = v_amount / 100
    WHERE t_id = in_trade;
    INSERT INTO trade_history (th_t_id, th_st_id, th_dts) VALUES (in_trade, 2, localtimestamp);

    UPDATE broker
    SET b_comm_total = b_comm_total + v_amount / 100, b_num_trades = b_num_trades + 1
    WHERE b_id = in_broker;

    INSERT INTO settlement (se_ca_id, se_t_id, se_cash_type, se_amt) VALUES (in_account, in_trade, 1, v_amount);
    IF v_cash THEN
        UPDATE customer_account SET ca_bal = ca_bal - v_amount WHERE ca_id = in_account;
        INSERT INTO cash_transaction (ct_s_symb, ct_t_id, ct_amt, ct_name)
        VALUES (in_symbol, in_trade, v_amount, 'trade');
    END IF;
END
$$;

-- Clause 3.3.8. The market has completed a trade. Whose it is, stands in the trade.
CREATE PROCEDURE trade_result(in_trade bigint, in_price numeric)
LANGUAGE plpgsql
AS $$
DECLARE
    v_account bigint;
    v_broker bigint;
    v_symbol bigint;
BEGIN
    SELECT t_ca_id, t_s_symb INTO STRICT v_account, v_symbol FROM trade WHERE t_id = in_trade;
    SELECT ca_b_id INTO STRICT v_broker FROM customer_account WHERE ca_id = v_account;
    CALL complete_trade(in_trade, in_price, v_account, v_broker, v_symbol);
END
$$;

-- The same for who has looked up before whose trade it is. No procedure here writes a trade's account or security, or
-- an account's broker: what was found holds.
CREATE PROCEDURE trade_result_found(
    in_trade bigint,
    in_price numeric,
    in_account bigint,
    in_broker bigint,
    in_symbol bigint
)
LANGUAGE plpgsql
AS $$
BEGIN
    CALL complete_trade(in_trade, in_price, in_account, in_broker, in_symbol);
END
$$;

-- Clause 3.3.9. An account's last trades.
CREATE PROCEDURE trade_status(in_account bigint, OUT out_count int)
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT count(*) INTO out_count FROM trade WHERE t_ca_id = in_account;
END
$$;

-- Clause 3.3.10. Its frames: executors of trades of a list, how an account's trades were paid, or texts of a
-- security's payments.
CREATE PROCEDURE trade_update(in_frame int, in_trades bigint[], in_account bigint, in_symbol bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_count int := array_length(in_trades, 1);
BEGIN
    IF in_frame = 1 THEN
        FOR i IN 1..v_count LOOP
            UPDATE trade SET t_exec_name = t_exec_name || ' X' WHERE t_id = in_trades[i];
        END LOOP;
    ELSIF in_frame = 2 THEN
        UPDATE settlement SET se_cash_type = 3 - se_cash_type WHERE se_ca_id = in_account;
    ELSE
        UPDATE cash_transaction SET ct_name = ct_name || ' of it' WHERE ct_s_symb = in_symbol;
    END IF;
END
$$;
