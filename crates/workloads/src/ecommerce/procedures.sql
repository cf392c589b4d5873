-- What users of a shop do. EC001: sold out.

-- Someone looks at an item: what it is, what it costs, who sells it, whether it is there.
CREATE OR REPLACE FUNCTION on_click(
    in_item_id int,
    OUT out_name text,
    OUT out_price numeric,
    OUT out_seller text,
    OUT out_quantity int
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_seller_id shop_item.i_seller_id%TYPE;
BEGIN
    SELECT i_name, i_price, i_seller_id INTO STRICT out_name, out_price, v_seller_id
    FROM shop_item
    WHERE i_id = in_item_id;
    SELECT s_name INTO STRICT out_seller FROM shop_seller WHERE s_id = v_seller_id;
    SELECT st_quantity INTO STRICT out_quantity FROM shop_stock WHERE st_item_id = in_item_id;
END
$$;

CREATE OR REPLACE PROCEDURE add_cart(in_user_id int, in_item_id int, in_quantity int)
LANGUAGE plpgsql
AS $$
DECLARE
    v_name shop_user.u_name%TYPE;
BEGIN
    SELECT u_name INTO STRICT v_name FROM shop_user WHERE u_id = in_user_id;
    UPDATE shop_cart
    SET c_quantity = c_quantity + in_quantity
    WHERE c_user_id = in_user_id AND c_item_id = in_item_id;
    IF NOT FOUND THEN
        INSERT INTO shop_cart (c_user_id, c_item_id, c_quantity)
        VALUES (in_user_id, in_item_id, in_quantity);
    END IF;
END
$$;

-- An item is as popular as it is often somebody's favourite.
CREATE OR REPLACE PROCEDURE add_favorite(in_user_id int, in_item_id int)
LANGUAGE plpgsql
AS $$
DECLARE
    v_name shop_user.u_name%TYPE;
BEGIN
    SELECT u_name INTO STRICT v_name FROM shop_user WHERE u_id = in_user_id;
    PERFORM 1 FROM shop_favorite WHERE f_user_id = in_user_id AND f_item_id = in_item_id;
    IF NOT FOUND THEN
        INSERT INTO shop_favorite (f_user_id, f_item_id) VALUES (in_user_id, in_item_id);
        UPDATE shop_item SET i_popularity = i_popularity + 1 WHERE i_id = in_item_id;
    END IF;
END
$$;

-- Answers how many were sold.
CREATE OR REPLACE PROCEDURE purchase_item(
    in_user_id int,
    in_item_id int,
    in_quantity int,
    OUT out_change bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_price shop_item.i_price%TYPE;
    v_left shop_stock.st_quantity%TYPE;
    v_number shop_user.u_purchases%TYPE;
BEGIN
    SELECT i_price INTO STRICT v_price FROM shop_item WHERE i_id = in_item_id;

    UPDATE shop_stock
    SET st_quantity = st_quantity - in_quantity, st_sold = st_sold + in_quantity
    WHERE st_item_id = in_item_id
    RETURNING st_quantity INTO v_left;
    IF v_left < 0 THEN
        RAISE EXCEPTION 'item % is sold out', in_item_id USING ERRCODE = 'EC001';
    END IF;

    UPDATE shop_user
    SET u_purchases = u_purchases + 1
    WHERE u_id = in_user_id
    RETURNING u_purchases INTO v_number;

    INSERT INTO shop_purchase (p_user_id, p_number, p_item_id, p_quantity, p_price)
    VALUES (in_user_id, v_number, in_item_id, in_quantity, v_price);
    out_change := in_quantity;
END
$$;
