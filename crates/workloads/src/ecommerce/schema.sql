-- A shop: users with carts, favourites and purchases; items with sellers and stock.

CREATE TABLE shop_user (
    u_id        int NOT NULL,
    u_name      text NOT NULL,
    u_purchases int NOT NULL,
    PRIMARY KEY (u_id)
);

CREATE TABLE shop_seller (
    s_id   int NOT NULL,
    s_name text NOT NULL,
    PRIMARY KEY (s_id)
);

CREATE TABLE shop_item (
    i_id         int NOT NULL,
    i_seller_id  int NOT NULL,
    i_name       text NOT NULL,
    i_price      numeric(10, 2) NOT NULL,
    i_popularity int NOT NULL,
    PRIMARY KEY (i_id)
);

CREATE TABLE shop_stock (
    st_item_id  int NOT NULL,
    st_quantity int NOT NULL,
    st_sold     int NOT NULL,
    PRIMARY KEY (st_item_id)
);

CREATE TABLE shop_cart (
    c_user_id  int NOT NULL,
    c_item_id  int NOT NULL,
    c_quantity int NOT NULL,
    PRIMARY KEY (c_user_id, c_item_id)
);

CREATE TABLE shop_favorite (
    f_user_id int NOT NULL,
    f_item_id int NOT NULL,
    PRIMARY KEY (f_user_id, f_item_id)
);

-- Numbered per user.
CREATE TABLE shop_purchase (
    p_user_id  int NOT NULL,
    p_number   int NOT NULL,
    p_item_id  int NOT NULL,
    p_quantity int NOT NULL,
    p_price    numeric(10, 2) NOT NULL,
    PRIMARY KEY (p_user_id, p_number)
);
