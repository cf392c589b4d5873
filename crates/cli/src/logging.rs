//! Log lines to standard error.
//!
//! Relies on: tracing-subscriber.  Promises: one event, one line.  Does not: rotate or ship files;
//! whoever runs the process collects its standard error.

use crate::exit::{Code, Exit};
use crate::options::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging for the rest of the process.
///
/// # Errors
/// Usage, if the filter makes no sense.
pub fn start(filter: &str, format: LogFormat) -> Result<(), Exit> {
    let parsed = EnvFilter::try_new(filter).map_err(|error| {
        Exit::from_error(Code::Usage, &format!("log filter \"{filter}\""), &error)
            .hint("Write error, warn, info or debug, or filters like info,quintet_server=debug.")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder
            .with_ansi(std::io::stderr().is_terminal())
            .try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Exit::new(Code::Failed, format!("logging cannot start: {error}")))
}
