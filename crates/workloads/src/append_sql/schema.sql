-- Lists that only grow: what a list holds tells the order of its writers.

CREATE TABLE append_list (
    l_id     bigint NOT NULL,
    l_values bigint[] NOT NULL,
    PRIMARY KEY (l_id)
);
