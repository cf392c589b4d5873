//! `quintet proxy`: a front end over PostgreSQL, from flags to serving, and down again.
//!
//! Relies on: `proxy` for the front end, `server` for its door.  Promises: says how to connect once everything that
//! earlier starts left is decided; the first signal lets what runs finish, the second ends the process at once.
//! Does not: start or change servers.

use crate::database::read_text;
use crate::exit::{Code, Exit};
use crate::logging;
use crate::proxy_arguments::ProxyArguments;
use crate::serve::{any, door, reachable, refused};
use quintet_proxy::{Proxy, ProxyConfig};
use quintet_replica::{Checksum, Server, checksums, differences, remove};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often is looked whether the front end is ready.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// `quintet proxy`.
///
/// # Errors
/// Codes 1, 2 and 5, by what went wrong.
pub fn proxy(arguments: &ProxyArguments) -> Result<(), Exit> {
    let mut replicas = Vec::new();
    for url in &arguments.replica {
        let server = Server::parse(url);
        replicas.push(server.map_err(|error| Exit::from_error(Code::Usage, "--replica", &error))?);
    }
    let users = arguments.user_file.as_deref().map(read_text).transpose()?;
    let settings = arguments.door().settle(users.as_deref())?;
    let config = config(arguments, replicas)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Exit::from_error(Code::Failed, "cannot start threads", &error))?;
    if arguments.compare {
        return runtime.block_on(compare(&config));
    }
    if arguments.remove {
        return runtime.block_on(take_away(&config));
    }
    logging::start(&settings.log, settings.log_format)?;
    runtime.block_on(async {
        let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let (Ok(mut interrupts), Ok(mut terminations)) = signals else {
            return Err(Exit::new(Code::Failed, "cannot watch signals"));
        };
        let starting = async {
            let proxy = Proxy::start(config.clone()).await;
            let proxy = proxy.map_err(|error| Exit::from_error(Code::Network, "cannot start", &error))?;
            while !proxy.is_ready() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok(Arc::new(proxy))
        };
        let proxy = tokio::select! {
            proxy = starting => proxy?,
            () = any(&mut interrupts, &mut terminations) => return Ok(()),
        };
        let server = quintet_server::serve_house(door(&settings), Arc::clone(&proxy))
            .await
            .map_err(|error| refused(&error))?;
        announce(&config, &proxy, server.local_addr());
        tokio::select! {
            () = any(&mut interrupts, &mut terminations) => {}
            () = server.wait() => return Err(Exit::new(Code::Network, "the server stopped by itself")),
        }
        tracing::info!(grace = %settings.shutdown_grace, "stopping; running statements may finish");
        tokio::select! {
            () = server.shutdown() => {}
            () = any(&mut interrupts, &mut terminations) => {
                // The next start decides what is under way.
                std::process::exit(Code::Interrupted as i32);
            }
        }
        proxy.stop().await;
        tracing::info!("stopped");
        Ok(())
    })
}

fn config(arguments: &ProxyArguments, replicas: Vec<Server>) -> Result<ProxyConfig, Exit> {
    let mut config = ProxyConfig::new(replicas);
    config.name.clone_from(&arguments.name);
    config.policy = arguments.policy;
    config.guarantee = arguments.guarantee;
    config.slots = arguments.slots;
    config.read_slots = arguments.read_slots;
    config.interactive_slots = arguments.interactive_slots;
    config.connect_timeout = arguments.connect_timeout.duration();
    config.stall_after = arguments.stall_after.duration();
    config.idle_in_transaction = arguments.idle_in_transaction_timeout.limit();
    config.service.apply_ratio = arguments.apply_ratio;
    for (name, time) in &arguments.service {
        match name {
            Some(name) => drop(config.service.named.insert(name.clone(), *time)),
            None => config.service.usual = *time,
        }
    }
    for file in &arguments.definitions {
        config.definitions.push(read_text(file)?);
    }
    Ok(config)
}

/// What a newcomer needs to know next.
fn announce(config: &ProxyConfig, proxy: &Proxy, address: std::net::SocketAddr) {
    let mut text = format!("quintet {}, a front end\n", env!("CARGO_PKG_VERSION"));
    for (number, server) in config.replicas.iter().enumerate() {
        let role = if number == 0 { ", the primary" } else { "" };
        text.push_str(&format!("  replica    {server}{role}\n"));
    }
    let known: Vec<&str> = proxy.known().collect();
    text.push_str(&format!(
        "  policy     {}, {}\n  procedures {}\n  listening  {address}\n  connect    psql -h {} -p {}\n",
        config.policy_name(),
        config.guarantee_name(),
        match known.is_empty() {
            true => "none".to_owned(),
            false => known.join(", "),
        },
        reachable(address),
        address.port(),
    ));
    // With standard output gone the front end still serves.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// `--compare`.
async fn compare(config: &ProxyConfig) -> Result<(), Exit> {
    let mut all: Vec<BTreeMap<String, Checksum>> = Vec::new();
    for server in &config.replicas {
        let found = checksums(server, config.connect_timeout).await;
        all.push(found.map_err(|error| {
            Exit::from_error(Code::Network, &format!("replica {server}"), &error)
        })?);
    }
    let mut text = String::new();
    let mut differ = 0;
    for (table, sum) in all.first().into_iter().flatten() {
        text.push_str(&format!("{table}: {} rows, sum {}\n", sum.rows, sum.sum));
    }
    for (server, sums) in config.replicas.iter().zip(&all).skip(1) {
        for difference in differences(&all[0], sums) {
            differ += 1;
            text.push_str(&format!("differs at {server}: {difference}\n"));
        }
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
    match differ {
        0 => Ok(()),
        _ => Err(Exit::new(Code::Failed, "the replicas differ")),
    }
}

/// `--remove`.
async fn take_away(config: &ProxyConfig) -> Result<(), Exit> {
    for server in &config.replicas {
        let removed = remove(server, &config.name, config.connect_timeout).await;
        removed.map_err(|error| {
            Exit::from_error(Code::Network, &format!("replica {server}"), &error)
        })?;
        println!("{server}: removed");
    }
    Ok(())
}
