-- SmallBank's three tables. Balances are in hundredths.

CREATE TABLE account (
    a_name text NOT NULL,
    a_id   int NOT NULL,
    PRIMARY KEY (a_name)
);

CREATE TABLE savings (
    s_id      int NOT NULL,
    s_balance bigint NOT NULL,
    PRIMARY KEY (s_id)
);

CREATE TABLE checking (
    c_id      int NOT NULL,
    c_balance bigint NOT NULL,
    PRIMARY KEY (c_id)
);
