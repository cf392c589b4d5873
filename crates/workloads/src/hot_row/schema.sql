-- A few counters that everybody touches, and many that hardly two touch at once.

CREATE TABLE hot (
    h_id    int NOT NULL,
    h_total bigint NOT NULL,
    PRIMARY KEY (h_id)
);

CREATE TABLE cold (
    c_id    int NOT NULL,
    c_total bigint NOT NULL,
    PRIMARY KEY (c_id)
);
