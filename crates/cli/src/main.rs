//! The `quintet` binary: serve, run SQL, measure, simulate, look inside.
//!
//! Relies on: every room below; this is the only place that names the allocator.
//! Promises: exit codes as in `exit`, errors on standard error with what can be done about them.
//! Does not: hold logic that a library user would miss.
//!
//! | file | what it holds |
//! |---|---|
//! | `arguments` | the command line |
//! | `options` | what a server can be told, from flags, environment and file |
//! | `quantity` | sizes and times as people write them |
//! | `serve` | `quintet serve`: start, signals, shutdown |
//! | `shell`, `input`, `script`, `table` | `quintet sql` |
//! | `backup`, `backup_arguments` | `quintet backup` and `restore` |
//! | `changes` | `quintet changes` |
//! | `dump` | `quintet dump` |
//! | `server_link` | a connection to a server, for those that ask it something |
//! | `measure` | `quintet bench ycsb` and `scheduler` |
//! | `call`, `compare` | `quintet bench` of workloads of calls: which, and on which targets in turn |
//! | `classify` | `quintet classify`: which calls conflict, and why |
//! | `simulate`, `sim_arguments` | `quintet sim`: scheduled calls on modelled workers |
//! | `nodes`, `nodes_arguments` | `quintet node`, `bench nodes` and `sim-nodes`: partitions over a wire |
//! | `scratch` | the directory that a benchmark works in, gone afterwards |
//! | `progress` | what a benchmark, or a simulation, is doing, on standard error |
//! | `inspect` | `quintet inspect` |
//! | `database` | opening a directory, in words |
//! | `heap` | memory for the allocator, there before it is needed, and not given back at once |
//! | `exit` | exit codes |

mod arguments;
mod backup;
mod backup_arguments;
mod call;
mod changes;
mod classify;
mod compare;
mod database;
mod dump;
mod exit;
mod heap;
mod input;
mod inspect;
mod logging;
mod measure;
mod nodes;
mod nodes_arguments;
mod options;
mod posts;
mod progress;
mod proxy;
mod proxy_arguments;
mod quantity;
mod scratch;
mod script;
mod serve;
mod server_link;
mod shell;
mod sim_arguments;
mod simulate;
mod table;

use arguments::{Arguments, BenchCommand, Command};
use clap::Parser;
use exit::Exit;
use std::io::Write;
use std::process::ExitCode;

// Row and key buffers are many, short-lived and freed by other threads than made them.
#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Wrong flags end here, with code 2.
    let arguments = Arguments::parse();
    heap::keep_for_a_moment();
    let result = match arguments.command {
        Command::Serve(serve) => serve::serve(serve),
        Command::Sql(sql) => database::sql(&sql),
        Command::Backup(arguments) => backup::backup(&arguments),
        Command::Restore(arguments) => backup::restore(&arguments),
        Command::Changes(arguments) => changes::changes(&arguments),
        Command::Dump(arguments) => dump::dump(&arguments),
        Command::Bench(command) => bench(&command),
        Command::Classify(classify) => classify::classify(&classify),
        Command::Sim(sim) => simulate::simulate(&sim),
        Command::SimNodes(sim) => nodes::simulate(&sim),
        Command::Node(node) => nodes::node(&node),
        Command::Proxy(arguments) => proxy::proxy(&arguments),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => report(&exit),
    }
}

fn bench(command: &BenchCommand) -> Result<(), Exit> {
    match command {
        BenchCommand::Ycsb(ycsb) => measure::ycsb(ycsb),
        BenchCommand::Tpcc(tpcc) => call::tpcc(tpcc),
        BenchCommand::Smallbank(bank) => call::smallbank(bank),
        BenchCommand::Hotrow(hot) => call::hotrow(hot),
        BenchCommand::Ecommerce(shop) => call::ecommerce(shop),
        BenchCommand::YcsbSql(ycsb) => call::ycsb_sql(ycsb),
        BenchCommand::ListAppend(append) => call::list_append(append),
        BenchCommand::Compare(compare) => bench(&compare::named(compare)?),
        BenchCommand::Nodes(run) => nodes::bench(run),
        BenchCommand::Scheduler(scheduler) => measure::scheduler(scheduler),
        BenchCommand::Machine(machine) => measure::machine(machine),
    }
}

fn report(exit: &Exit) -> ExitCode {
    let mut errors = std::io::stderr().lock();
    // With standard error gone there is nobody left to tell.
    if !exit.message.is_empty() {
        let _ = writeln!(errors, "quintet: {}", exit.message);
    }
    if let Some(hint) = &exit.hint {
        let _ = writeln!(errors, "  hint: {hint}");
    }
    ExitCode::from(exit.code as u8)
}
