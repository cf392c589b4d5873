-- TPC-E's tables (specification 1.14, clause 2.2), reduced to what decides which transactions conflict.
--
-- As specified: which tables there are of those that a transaction writes or finds its rows by, which columns of them
-- are written, and by which columns rows are found.
-- Reduced: names and symbols are numbers; columns that are only read and sent back are left out, and so are tables
-- that are only read and by whose rows no key is found (addresses, companies' competitors, news, prices of days).
-- Changed: a row that belongs to an account or a security has that first in its primary key, as implementations
-- cluster it. holding is specified with the number of its trade alone, as are settlement and cash_transaction;
-- then nobody could tell from a Trade Update's account or security which rows it will find.

CREATE TABLE broker (
    b_id bigint PRIMARY KEY,
    b_sc_id int NOT NULL,
    b_num_trades int NOT NULL,
    b_comm_total numeric(12, 2) NOT NULL
);

CREATE TABLE customer (
    c_id bigint PRIMARY KEY,
    c_tier int NOT NULL
);

CREATE TABLE customer_account (
    ca_id bigint PRIMARY KEY,
    ca_b_id bigint NOT NULL,
    ca_c_id bigint NOT NULL,
    ca_bal numeric(12, 2) NOT NULL
);
CREATE INDEX customer_account_customer ON customer_account (ca_c_id);

CREATE TABLE security (
    s_symb bigint PRIMARY KEY,
    s_in_id int NOT NULL,
    s_num_out bigint NOT NULL
);

CREATE TABLE last_trade (
    lt_s_symb bigint PRIMARY KEY,
    lt_dts timestamp NOT NULL,
    lt_price numeric(8, 2) NOT NULL,
    lt_vol bigint NOT NULL
);

CREATE TABLE watch_item (
    wi_c_id bigint,
    wi_s_symb bigint,
    PRIMARY KEY (wi_c_id, wi_s_symb)
);

CREATE TABLE trade (
    t_id bigint PRIMARY KEY,
    t_dts timestamp NOT NULL,
    t_st_id int NOT NULL,
    t_ca_id bigint NOT NULL,
    t_s_symb bigint NOT NULL,
    t_qty int NOT NULL,
    t_bid_price numeric(8, 2) NOT NULL,
    t_is_sale boolean NOT NULL,
    t_is_cash boolean NOT NULL,
    t_exec_name text NOT NULL,
    t_trade_price numeric(8, 2),
    t_tax numeric(10, 2) NOT NULL,
    t_comm numeric(10, 2) NOT NULL
);
CREATE INDEX trade_account ON trade (t_ca_id, t_dts);
CREATE INDEX trade_security ON trade (t_s_symb, t_dts);

CREATE TABLE trade_history (
    th_t_id bigint,
    th_st_id int,
    th_dts timestamp NOT NULL,
    PRIMARY KEY (th_t_id, th_st_id)
);

CREATE TABLE trade_request (
    tr_t_id bigint PRIMARY KEY,
    tr_s_symb bigint NOT NULL,
    tr_b_id bigint NOT NULL,
    tr_qty int NOT NULL,
    tr_bid_price numeric(8, 2) NOT NULL
);

CREATE TABLE holding_summary (
    hs_ca_id bigint,
    hs_s_symb bigint,
    hs_qty int NOT NULL,
    PRIMARY KEY (hs_ca_id, hs_s_symb)
);

CREATE TABLE holding (
    h_ca_id bigint,
    h_s_symb bigint,
    h_t_id bigint,
    h_qty int NOT NULL,
    PRIMARY KEY (h_ca_id, h_s_symb, h_t_id)
);

CREATE TABLE settlement (
    se_ca_id bigint,
    se_t_id bigint,
    se_cash_type int NOT NULL,
    se_amt numeric(10, 2) NOT NULL,
    PRIMARY KEY (se_ca_id, se_t_id)
);

CREATE TABLE cash_transaction (
    ct_s_symb bigint,
    ct_t_id bigint,
    ct_amt numeric(10, 2) NOT NULL,
    ct_name text NOT NULL,
    PRIMARY KEY (ct_s_symb, ct_t_id)
);
