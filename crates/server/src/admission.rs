//! Whether somebody at the door is let in: rules, proofs, roles.
//!
//! Relies on: `hba` for rules, `auth` for passwords, the house for roles.  Promises: a user of the configuration wins over a role of
//! the same name; who is refused is told no more than PostgreSQL tells, the log says why; no password is ever logged; without
//! rules and without passwords nobody comes in from another machine.  Does not: encrypt; the door has.
//!
//! ```text
//!   rules given?  ──first that fits──► trust │ reject │ scram-sha-256 │ cert │ peer
//!      └ no: any user, any role with a password? ─► scram-sha-256; else from this machine: trust, else reject
//!   proof ─► a role? LOGIN? room below CONNECTION LIMIT? ─► in
//! ```

use crate::arrivals::Origin;
use crate::auth::{self, Verifier};
use crate::door::{Entrance, Io, Refusal, ask};
use crate::hba::{Caller, Method};
use crate::house::House;
use crate::metrics::add;
use crate::protocol::backend::{self, Sasl};
use quintet_base::{SqlError, SqlState};
use quintet_rt::{Clock, RealDisk, disk};
use quintet_sql::role::Login;
use std::io;
use std::path::Path;

/// Where the system has the names of its users.
const ACCOUNTS_FILE: &str = "/etc/passwd";

/// How somebody has come.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub origin: Origin,
    pub encrypted: bool,
    /// The common name of a certificate that was shown and found right.
    pub certificate: Option<Option<String>>,
}

/// Why somebody is not let in: what they are told, and what the log says.
pub(crate) struct Refused {
    error: SqlError,
    reason: String,
}

impl Refused {
    fn new(state: SqlState, message: String, reason: &str) -> Refused {
        Refused {
            error: SqlError::new(state, message),
            reason: reason.to_string(),
        }
    }
}

impl From<SqlError> for Refused {
    fn from(error: SqlError) -> Refused {
        let reason = error.message.clone();
        Refused { error, reason }
    }
}

/// Who has come in.
pub(crate) struct Admitted {
    /// A user of the configuration.
    pub configured: bool,
    /// Sessions of the role at once, if that is bounded.
    pub limit: Option<usize>,
}

/// Lets somebody in, or says why not.
///
/// # Errors
/// The refusal, logged and counted; or the socket's.
pub(crate) async fn admit<H: House>(
    mut io: Io,
    out: &mut Vec<u8>,
    (user, database): (&str, &str),
    arrival: &Arrival,
    (entrance, house): (&Entrance, &H),
) -> Result<(Io, Admitted), Refusal> {
    match decide(&mut io, out, (user, database), arrival, (entrance, house)).await? {
        Ok(admitted) => Ok((io, admitted)),
        Err(refused) => {
            let (address, reason) = (arrival.origin, refused.reason);
            tracing::warn!(user, database, %address, reason, "log-in refused");
            add(&entrance.metrics.authentications_failed, 1);
            Err(Refusal::Told(io, refused.error))
        }
    }
}

async fn decide<H: House>(
    io: &mut Io,
    out: &mut Vec<u8>,
    (user, database): (&str, &str),
    arrival: &Arrival,
    (entrance, house): (&Entrance, &H),
) -> io::Result<Result<Admitted, Refused>> {
    let caller = Caller {
        address: arrival.origin.address().map(|address| address.ip()),
        encrypted: arrival.encrypted,
        user,
        database,
    };
    let rules = entrance.rules.read().clone();
    let open = rules.is_none() && entrance.users.is_empty() && !house.any_password();
    let method = match &rules {
        Some(rules) => rules.method(&caller),
        None if !open => Some(Method::Scram),
        None if arrival.origin.is_here() => Some(Method::Trust),
        None => None,
    };
    let configured = entrance.users.verifier(user);
    let is_configured = configured.is_some();
    let login = match is_configured {
        true => None,
        false => house.login(user),
    };
    let proven = match method {
        Some(Method::Trust) => Ok(()),
        Some(Method::Scram) => {
            let (verifier, why) = match (configured, &login) {
                (Some(verifier), _) => (Some(verifier), ""),
                (None, Some(login)) => verifier_of(login, entrance),
                (None, None) => (None, "there is no such role"),
            };
            prove(io, out, user, (verifier, why), entrance).await?
        }
        Some(Method::Cert) => by_certificate(user, arrival),
        Some(Method::Peer) => by_peer(user, arrival.origin),
        Some(Method::Reject) => Err(rejected("pg_hba.conf rejects connection", &caller, arrival)),
        None => Err(rejected("no pg_hba.conf entry", &caller, arrival)),
    };
    Ok(proven.and_then(|()| {
        match login {
            _ if is_configured => {}
            Some(login) if !login.allowed => {
                let message = format!("role \"{user}\" is not permitted to log in");
                let state = SqlState::INVALID_AUTHORIZATION;
                return Err(Refused::new(state, message, "the role has no LOGIN"));
            }
            Some(login) => {
                let limit = usize::try_from(login.connection_limit).ok();
                return Ok(Admitted {
                    configured: false,
                    limit: limit.filter(|_| !login.superuser),
                });
            }
            // Where nobody proves anything everybody is the superuser, and any name will do.
            None if open || !house.has_roles() => {}
            None => {
                let message = format!("role \"{user}\" does not exist");
                let state = SqlState::INVALID_AUTHORIZATION;
                return Err(Refused::new(state, message, "there is no such role"));
            }
        }
        Ok(Admitted {
            configured: is_configured,
            limit: None,
        })
    }))
}

/// What a role's proof is measured by; without it, why it cannot be given.
fn verifier_of(login: &Login, entrance: &Entrance) -> (Option<Verifier>, &'static str) {
    let now = entrance.clock.now_micros();
    match &login.verifier {
        None => (None, "the role has no password"),
        Some(_) if login.valid_until.is_some_and(|until| until < now) => {
            (None, "the password has expired")
        }
        Some(text) => match Verifier::read(text) {
            Some(verifier) => (Some(verifier), ""),
            None => (None, "the verifier cannot be read"),
        },
    }
}

fn rejected(what: &str, caller: &Caller, arrival: &Arrival) -> Refused {
    let encryption = match caller.encrypted {
        true => "SSL encryption",
        false => "no encryption",
    };
    let Caller { user, database, .. } = caller;
    let origin = arrival.origin;
    let message = format!(
        "{what} for host \"{origin}\", user \"{user}\", database \"{database}\", {encryption}"
    );
    let reason = match what.starts_with("no") {
        true => "no rule lets them in",
        false => "a rule rejects them",
    };
    Refused::new(SqlState::INVALID_AUTHORIZATION, message, reason)
}

fn by_certificate(user: &str, arrival: &Arrival) -> Result<(), Refused> {
    let state = SqlState::INVALID_AUTHORIZATION;
    match &arrival.certificate {
        None => Err(Refused::new(
            state,
            "connection requires a valid client certificate".to_string(),
            "no certificate was shown",
        )),
        Some(name) if name.as_deref() == Some(user) => Ok(()),
        Some(_) => Err(Refused::new(
            state,
            format!("certificate authentication failed for user \"{user}\""),
            "the certificate has another common name",
        )),
    }
}

/// Whether the other side runs as the user of the system that has this name.
fn by_peer(user: &str, origin: Origin) -> Result<(), Refused> {
    let Origin::Local { user: number } = origin else {
        return Err(SqlError::internal("a peer has come through the network").into());
    };
    let accounts = disk::read_file(&RealDisk, Path::new(ACCOUNTS_FILE)).unwrap_or_default();
    match number_of(user, &String::from_utf8_lossy(&accounts)) {
        Some(known) if known == number => Ok(()),
        known => Err(Refused::new(
            SqlState::INVALID_AUTHORIZATION,
            format!("Peer authentication failed for user \"{user}\""),
            match known {
                Some(_) => "the other side runs as another user of the system",
                None => "the system knows no user of that name",
            },
        )),
    }
}

/// A user's number by the file of accounts, whose lines are `name:password:number:…`.
fn number_of(user: &str, accounts: &str) -> Option<u32> {
    let mut lines = accounts.lines().map(|line| line.split(':'));
    let mut fields = lines.find(|fields| fields.clone().next() == Some(user))?;
    fields.nth(2)?.parse().ok()
}

/// The SCRAM exchange. Who has no verifier goes through the same one and fails. The inner result is the client's; the outer
/// one is the socket's.
async fn prove(
    io: &mut Io,
    out: &mut Vec<u8>,
    user: &str,
    (verifier, why): (Option<Verifier>, &str),
    entrance: &Entrance,
) -> io::Result<Result<(), Refused>> {
    backend::sasl(out, Sasl::Mechanism(auth::MECHANISM));
    let response = match ask(io, out).await? {
        Ok(response) => response,
        Err(error) => return Ok(Err(error.into())),
    };
    let challenge = match entrance.users.challenge(user, verifier, &response) {
        Ok((server_first, challenge)) => {
            backend::sasl(out, Sasl::Continue(&server_first));
            challenge
        }
        Err(error) => return Ok(Err(error.into())),
    };
    let proof = match ask(io, out).await? {
        Ok(proof) => proof,
        Err(error) => return Ok(Err(error.into())),
    };
    Ok(match challenge.answer(&proof) {
        Ok(server_final) => {
            backend::sasl(out, Sasl::Final(&server_final));
            Ok(())
        }
        Err(error) => {
            let reason = match why {
                "" if error.state == SqlState::INVALID_PASSWORD => "wrong password",
                "" => &error.message,
                why => why,
            };
            let reason = reason.to_string();
            Err(Refused { error, reason })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_the_system_have_numbers() {
        let accounts = "root:x:0:0:root:/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nodd:x\n";
        let number = |user| number_of(user, accounts);
        assert_eq!((number("root"), number("ann")), (Some(0), Some(1000)));
        assert_eq!(
            (number("an"), number("odd"), number("")),
            (None, None, None)
        );
    }
}
