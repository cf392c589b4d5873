//! The examples of the three depths at which the engine can be embedded, run as they stand.

#[path = "../examples/depth_1_records.rs"]
mod records;
#[path = "../examples/depth_3_sql.rs"]
mod sql;
#[path = "../examples/depth_2_transactions.rs"]
mod transactions;

#[test]
fn the_store_alone() {
    records::main().expect("the example runs");
}

#[test]
fn transactions_without_sql() {
    transactions::main().expect("the example runs");
}

#[test]
fn the_whole_database() {
    sql::main().expect("the example runs");
}
