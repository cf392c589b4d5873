//! A model world around the front end: servers, their connections, a driver, clients, faults.
//!
//! | file | what it holds |
//! |---|---|
//! | `world` | who acts next, and what fails |
//! | `settings` | what kind of work and trouble a seed means; mistakes made on purpose |
//! | `server`, `job` | a PostgreSQL server, and what its sessions do |
//! | `driver` | from effects to jobs, from answers to events |
//! | `clients` | who calls what, and what became of it |
//! | `check` | what must hold at the end |

pub mod check;
pub mod clients;
pub mod driver;
pub mod job;
pub mod rng;
pub mod server;
pub mod settings;
pub mod world;
