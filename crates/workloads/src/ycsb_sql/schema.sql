-- YCSB's one table: a counter for checking, and a value.

CREATE TABLE usertable (
    y_id      bigint NOT NULL,
    y_counter bigint NOT NULL,
    y_value   text NOT NULL,
    PRIMARY KEY (y_id)
);
