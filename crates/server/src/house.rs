//! What is behind the door: whoever serves guests once they are let in.
//!
//! Relies on: `door`, which has asked a guest's name and proof.  Promises: the same door, desks and metrics in
//! front of any house.  Does not: know what a guest wants.
//!
//! ```text
//!   socket ─► door ─► Guest ─► House ─┬─► DatabaseHouse: a session of a database of ours
//!                                     └─► others, as `proxy`: replicas of PostgreSQL
//! ```

use crate::arrivals::Origin;
use crate::connection::Connection;
use crate::door::{Entrance, Io, tell};
use crate::metrics::{Metrics, add};
use crate::protocol::backend;
use crate::protocol::startup::Startup;
use crate::registry::Seat;
use quintet_base::SqlError;
use quintet_embed::{Database, Interrupt, SessionOptions};
use quintet_sql::role::Login;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Serves guests.
pub trait House: Send + Sync + 'static {
    /// Serves one, to its end. Run at a desk; what takes long goes elsewhere.
    fn receive(self: Arc<Self>, guest: Guest) -> impl Future<Output = ()> + Send + 'static;

    /// What the house knows of a role; `None`: nothing.
    fn login(&self, user: &str) -> Option<Login> {
        let _ = user;
        None
    }

    /// Whether any role of the house has a password.
    fn any_password(&self) -> bool {
        false
    }

    /// Whether the house knows roles at all; otherwise any name will do.
    fn has_roles(&self) -> bool {
        false
    }

    /// The page of metrics, with those of the door.
    fn metrics(&self, door: &Metrics) -> String;
}

/// Somebody who was let in and has not been told so.
pub struct Guest {
    /// The socket.
    pub io: Io,
    /// What is to be sent first; AuthenticationOk is still to be added ([`Guest::welcome`]).
    pub out: Vec<u8>,
    /// Where the guest comes from.
    pub origin: Origin,
    /// A user of the configuration, whatever the house knows of the name.
    pub configured: bool,
    /// What was asked for at log-in.
    pub startup: Startup,
    /// The guest's place among all; given back when it is dropped.
    pub seat: Arc<Seat>,
    /// The door it came through.
    pub entrance: Arc<Entrance>,
}

impl Guest {
    /// Adds what ends a log-in but ReadyForQuery: that it was right, settings, and the key of cancel requests.
    pub fn welcome(&mut self, settings: &[(String, String)]) {
        self.out.extend_from_slice(backend::AUTHENTICATION_OK);
        for (name, value) in settings {
            backend::parameter_status(&mut self.out, name, value);
        }
        backend::key_data(&mut self.out, self.seat.process_id, self.seat.secret);
    }

    /// Turns the guest away.
    pub async fn refuse(self, error: &SqlError) {
        tell(self.io, error, &self.entrance).await;
    }

    /// Counts the guest as served until what is returned is dropped.
    pub fn counted(&self) -> Served {
        let metrics = &self.entrance.metrics;
        add(&metrics.connections, 1);
        add(&metrics.connections_open, 1);
        Served(Arc::clone(&self.entrance))
    }
}

/// A guest that counts as served.
pub struct Served(Arc<Entrance>);

impl Drop for Served {
    fn drop(&mut self) {
        let open = &self.0.metrics.connections_open;
        open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A database of ours.
pub(crate) struct DatabaseHouse(pub Database);

impl House for DatabaseHouse {
    async fn receive(self: Arc<Self>, mut guest: Guest) {
        let options = SessionOptions {
            configured: guest.configured,
            user: std::mem::take(&mut guest.startup.user),
            database: std::mem::take(&mut guest.startup.database),
            process_id: guest.seat.process_id,
            client: guest.origin.address(),
            settings: std::mem::take(&mut guest.startup.settings),
        };
        let user = options.user.clone();
        let database = self.0.named(&options.database);
        let session = match database.and_then(|database| database.session(options)) {
            Ok(session) => session,
            Err(error) => return guest.refuse(&error).await,
        };
        let cancel = session.cancel_handle();
        guest.seat.serves(move || cancel.cancel());
        // The seat outlives the session, but the session's slot must not keep the seat.
        let seat = Arc::downgrade(&guest.seat);
        session.on_interrupt(move |interrupt| {
            let Some(seat) = seat.upgrade() else {
                return false;
            };
            match interrupt {
                Interrupt::Cancel => seat.interrupt(),
                Interrupt::Terminate => seat.dismiss(),
            }
            true
        });
        let seat = Arc::downgrade(&guest.seat);
        session.on_notification(move || {
            if let Some(seat) = seat.upgrade() {
                seat.wake.notify_one();
            }
        });
        guest.welcome(&session.reported_settings());
        tracing::debug!(
            process_id = guest.seat.process_id,
            user,
            "connection opened"
        );
        Connection::new(guest.io, guest.out, session, guest.seat, guest.entrance)
            .run()
            .await;
    }

    fn login(&self, user: &str) -> Option<Login> {
        self.0.login(user)
    }

    fn any_password(&self) -> bool {
        self.0.any_password()
    }

    fn has_roles(&self) -> bool {
        true
    }

    fn metrics(&self, door: &Metrics) -> String {
        door.render(&self.0.stats())
    }
}
