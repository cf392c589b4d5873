//! The network door: PostgreSQL's protocol in front of `embed::Session`.
//!
//! Relies on: `embed` for sessions, which never block; tokio's multi-thread runtime; `pgwire` for
//! SCRAM and TLS.  Promises: what clients of PostgreSQL 15 expect on the wire; a client that
//! misbehaves or a statement that panics hurts its own connection only; memory per connection is
//! bounded by the largest message and row.  Does not: know SQL, plans or storage.
//!
//! ```text
//!   socket ─► door: TLS, cancel, log-in, SCRAM ─► connection: messages ─► embed::Session
//!                        │                            │ statement: steps, waits
//!                     registry: seats, cancel, stop ◄─┘ rows: values ─► bytes
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `server` | [`serve`], [`Server`]: listening and stopping |
//! | `config` | [`ServerConfig`] and why a server does not start |
//! | `arrivals` | [`Origin`]: addresses and files to listen on, and where somebody comes from |
//! | `door` | from an accepted socket to a guest |
//! | `house` | [`House`]: who serves guests; a database of ours, or `proxy` |
//! | `auth`, `tls` | who may come in, and unseen |
//! | `registry` | who is connected; cancel requests |
//! | `desks`, `linger` | the threads that serve, and when they sleep |
//! | `connection` | one client's messages |
//! | `rows` | rows as messages |
//! | `protocol` | messages as bytes |
//! | `metrics`, `http` | counters, and the page that shows them |
//!
//! Why not pgwire's server: its handlers box a future and build objects for every message; a loop of
//! our own costs a fraction, and the front is most of what a small statement costs.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use quintet_embed::{Database, DatabaseConfig};
//! use quintet_server::{ServerConfig, serve};
//!
//! let (database, _report) = Database::open(DatabaseConfig::new("data"))?;
//! let server = serve(ServerConfig::default(), database).await?;
//! println!("listening on {}", server.local_addr());
//! server.wait().await;
//! # Ok(()) }
//! ```

mod admission;
mod arrivals;
mod auth;
mod certificate;
mod config;
mod connection;
mod desks;
mod door;
mod hba;
mod house;
mod http;
mod linger;
mod metrics;
pub mod protocol;
mod registry;
mod rows;
mod server;
mod tls;

pub use arrivals::Origin;
pub use config::{
    AUTHENTICATION_TIMEOUT, Error, LISTEN_DEFAULT, SHUTDOWN_GRACE, SOCKET_MODE_DEFAULT,
    ServerConfig, TlsFiles,
};
pub use door::{Entrance, Io, Socket};
pub use house::{Guest, House, Served};
pub use metrics::{Metrics, Page};
pub use registry::{Phase, Seat};
pub use server::{Server, serve, serve_house};
