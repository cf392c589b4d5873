//! A connection to a server, for the commands that ask it something.
//!
//! Relies on: `tokio-postgres`.  Promises: errors in words, with the exit code that goes with them.
//! Does not: use TLS.

use crate::exit::{Code, Exit};
use tokio_postgres::{Client, Config, NoTls};

/// Connects and does what is to be done there.
///
/// # Errors
/// With code 2 for a URL that cannot be read, 5 if there is no server; what `work` says.
pub fn run<T>(url: &str, work: impl AsyncFnOnce(&Client) -> Result<T, Exit>) -> Result<T, Exit> {
    let unread = |error| Exit::from_error(Code::Usage, &format!("cannot read {url}"), &error);
    let mut config: Config = url.parse().map_err(unread)?;
    config.application_name("quintet");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .map_err(|error| Exit::from_error(Code::Network, "cannot use the network", &error))?;
    runtime.block_on(async {
        let connected = config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| {
            Exit::from_error(Code::Network, "cannot connect", &error)
                .hint("Is the server running? URLs are postgres://user:password@host:port/quintet.")
        })?;
        // Its errors reach whoever asks.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let result = work(&client).await;
        connection.abort();
        result
    })
}

/// What the server said, or that it is gone.
pub fn refused(error: tokio_postgres::Error) -> Exit {
    match error.as_db_error() {
        Some(said) => {
            let mut exit = Exit::new(
                Code::Failed,
                format!("{} ({})", said.message(), said.code().code()),
            );
            exit.hint = said.detail().or(said.hint()).map(str::to_owned);
            exit
        }
        None => Exit::from_error(Code::Network, "the connection was lost", &error),
    }
}
