//! `quintet bench` of workloads whose transactions are procedures: which workload the command line means.
//!
//! Relies on: `quintet_workloads`; `compare` for running it.  Promises: progress on standard error, the
//! report alone on standard output.  Does not: measure.

use crate::arguments::{
    AppendArguments, EcommerceArguments, HotRowArguments, SmallBankArguments, TpccArguments,
    YcsbSqlArguments,
};
use crate::compare::measure;
use crate::exit::Exit;
use quintet_workloads::tpcc::Scale;
use quintet_workloads::{AppendConfig, AppendSql, Ecommerce, HotRow, SmallBank, Tpcc, YcsbSql};

/// `quintet bench tpcc`.
///
/// # Errors
/// With code 1 if the run or a check failed.
pub fn tpcc(arguments: &TpccArguments) -> Result<(), Exit> {
    let scale = match arguments.small {
        true => Scale::small(arguments.warehouses),
        false => Scale::full(arguments.warehouses),
    };
    let workload = Tpcc::new(scale, arguments.mix, arguments.calls.seed);
    measure(&workload, &arguments.calls)
}

/// `quintet bench smallbank`.
///
/// # Errors
/// As [`tpcc`].
pub fn smallbank(arguments: &SmallBankArguments) -> Result<(), Exit> {
    let workload = SmallBank::new(arguments.customers, arguments.theta);
    measure(&workload, &arguments.calls)
}

/// `quintet bench hotrow`.
///
/// # Errors
/// As [`tpcc`].
pub fn hotrow(arguments: &HotRowArguments) -> Result<(), Exit> {
    let workload = HotRow {
        mix: arguments.mix,
        hot_rows: arguments.hot_rows,
        cold_rows: arguments.cold_rows,
        cold_touched: arguments.cold_touched,
    };
    measure(&workload, &arguments.calls)
}

/// `quintet bench ecommerce`.
///
/// # Errors
/// As [`tpcc`].
pub fn ecommerce(arguments: &EcommerceArguments) -> Result<(), Exit> {
    let workload = Ecommerce::new(arguments.users, arguments.items, arguments.theta);
    measure(&workload, &arguments.calls)
}

/// `quintet bench ycsb-sql`.
///
/// # Errors
/// As [`tpcc`].
pub fn ycsb_sql(arguments: &YcsbSqlArguments) -> Result<(), Exit> {
    let workload = YcsbSql::new(
        arguments.mix,
        arguments.records,
        arguments.value_bytes,
        arguments.theta,
    )
    .raising(arguments.raise);
    measure(&workload, &arguments.calls)
}

/// `quintet bench list-append`.
///
/// # Errors
/// As [`tpcc`]; with code 1 also if the history has an anomaly that the level forbids.
pub fn list_append(arguments: &AppendArguments) -> Result<(), Exit> {
    let workload = AppendSql::new(AppendConfig {
        lists_in_use: arguments.lists,
        transactions_per_list: arguments.transactions_per_list,
        operations_max: arguments.operations_max,
    });
    measure(&workload, &arguments.calls)
}
