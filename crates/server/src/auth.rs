//! Who may come in: everybody, or those who know their password (SCRAM-SHA-256, RFC 5802 and 7677).
//!
//! Relies on: `pgwire` for the exchange itself.  Promises: no password is kept, only verifiers; an
//! unknown user sees the same exchange as a wrong password.  Does not: bind the exchange to the TLS
//! channel (SCRAM-SHA-256-PLUS).
//!
//! ```text
//! server  SASL: SCRAM-SHA-256          ──►
//!         ◄── SASLInitialResponse: mechanism, client-first
//! server  SASLContinue: server-first   ──►     salt, iterations, nonce
//!         ◄── SASLResponse: client-final       proof
//! server  SASLFinal: server-final      ──►     the server's own proof, or an error 28P01
//! ```

use crate::config::Error;
use crate::protocol::{Cursor, violation};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal,
    gen_salted_password,
};
use pgwire::error::PgWireError;
use pgwire::tokio::tokio_rustls::rustls;
use quintet_base::{SqlError, SqlResult, SqlState};
use std::collections::BTreeMap;

/// The only mechanism offered.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";

/// Bytes of a salt, as PostgreSQL makes them.
const SALT_BYTES: usize = 16;

/// SHA-256 gives this many.
const KEY_BYTES: usize = 32;

/// What is kept of a password.
#[derive(Clone)]
pub(crate) struct Verifier {
    salt: Vec<u8>,
    iterations: usize,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

/// The configured users.
pub(crate) struct Users {
    verifiers: BTreeMap<String, Verifier>,
    /// Nobody knows its password. Unknown users are measured against it, with a salt that depends on
    /// their name, so that asking twice does not tell them apart from real ones.
    nobody: Verifier,
}

/// Fills `bytes` with numbers fit for secrets.
///
/// # Errors
/// The system has none to give.
pub(crate) fn secrets(bytes: &mut [u8]) -> Result<(), Error> {
    let provider = rustls::crypto::ring::default_provider();
    provider
        .secure_random
        .fill(bytes)
        .map_err(|_| Error::Randomness)
}

impl Users {
    /// Turns passwords into verifiers.
    ///
    /// # Errors
    /// A verifier that cannot be read; no randomness.
    pub fn new(users: &BTreeMap<String, String>) -> Result<Users, Error> {
        let mut verifiers = BTreeMap::new();
        for (user, secret) in users {
            let verifier = if secret.starts_with("SCRAM-SHA-256$") {
                Verifier::read(secret).ok_or_else(|| Error::Verifier { user: user.clone() })?
            } else {
                Verifier::of_password(secret)?
            };
            verifiers.insert(user.clone(), verifier);
        }
        let mut password = [0; KEY_BYTES];
        secrets(&mut password)?;
        let nobody = Verifier::of_password(&STANDARD.encode(password))?;
        Ok(Users { verifiers, nobody })
    }

    /// What a configured user's proof is measured by.
    pub fn verifier(&self, user: &str) -> Option<Verifier> {
        self.verifiers.get(user).cloned()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.verifiers.is_empty()
    }

    /// Starts the exchange with client-first, against a verifier, or against none that anybody could know; returns server-first and what waits for the proof.
    ///
    /// # Errors
    /// `08P01` for what is no client-first, `28000` for another mechanism.
    pub fn challenge(
        &self,
        user: &str,
        verifier: Option<Verifier>,
        response: &[u8],
    ) -> SqlResult<(String, Challenge)> {
        let mut rest = Cursor(response);
        let mechanism = rest.text()?;
        if mechanism != MECHANISM {
            return Err(SqlError::new(
                SqlState::INVALID_AUTHORIZATION,
                format!("authentication mechanism \"{mechanism}\" is not offered"),
            ));
        }
        let length = rest.i32()?;
        let client_first = rest.bytes(usize::try_from(length).unwrap_or(0))?;
        rest.end()?;
        let (verifier, known) = match verifier {
            Some(verifier) => (verifier, true),
            None => (self.nobody.salted_for(user), false),
        };
        let secret = verifier.into_secret();
        let (server_first, waiting) = ScramServerAuth::new()
            .on_client_first_message_with_secret(client_first, secret)
            .map_err(malformed)?;
        Ok((
            server_first,
            Challenge {
                waiting,
                user: user.to_string(),
                known,
            },
        ))
    }
}

/// An exchange that waits for the client's proof.
pub(crate) struct Challenge {
    waiting: ScramServerAuthWaitingForClientFinal,
    user: String,
    known: bool,
}

impl Challenge {
    /// Checks client-final; returns server-final.
    ///
    /// # Errors
    /// `28P01` for a wrong proof, `08P01` for what is no client-final.
    pub fn answer(&self, client_final: &[u8]) -> SqlResult<String> {
        let result = self.waiting.on_client_final_message(client_final);
        match result {
            Ok(server_final) if self.known => Ok(server_final),
            Ok(_) | Err(PgWireError::InvalidPassword(_)) => Err(SqlError::new(
                SqlState::INVALID_PASSWORD,
                format!("password authentication failed for user \"{}\"", self.user),
            )),
            Err(error) => Err(malformed(error)),
        }
    }
}

fn malformed(error: PgWireError) -> SqlError {
    violation("malformed SCRAM message").detail(error.to_string())
}

impl Verifier {
    fn of_password(password: &str) -> Result<Verifier, Error> {
        let mut salt = vec![0; SALT_BYTES];
        secrets(&mut salt)?;
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        match ScramSecret::verifier_from_salted_password(salt, salted, SCRAM_ITERATIONS) {
            ScramSecret::Verifier {
                salt,
                iterations,
                stored_key,
                server_key,
            } => Ok(Verifier {
                salt,
                iterations,
                stored_key,
                server_key,
            }),
            ScramSecret::SaltedPassword { .. } => unreachable!("a verifier was asked for"),
        }
    }

    /// `SCRAM-SHA-256$iterations:salt$stored:server`, the last three in base 64.
    pub fn read(text: &str) -> Option<Verifier> {
        let mut parts = text.strip_prefix("SCRAM-SHA-256$")?.split('$');
        let (iterations, salt) = parts.next()?.split_once(':')?;
        let (stored_key, server_key) = parts.next()?.split_once(':')?;
        let key = |text: &str| {
            STANDARD
                .decode(text)
                .ok()
                .filter(|key| key.len() == KEY_BYTES)
        };
        let verifier = Verifier {
            salt: STANDARD.decode(salt).ok().filter(|salt| !salt.is_empty())?,
            iterations: iterations
                .parse()
                .ok()
                .filter(|n| (1..=10_000_000).contains(n))?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        };
        parts.next().is_none().then_some(verifier)
    }

    /// The same with a salt that belongs to this name, told by nobody's keys.
    fn salted_for(&self, user: &str) -> Verifier {
        let secret = STANDARD.encode(&self.server_key);
        let mut salt = gen_salted_password(user, secret.as_bytes(), 1);
        salt.truncate(SALT_BYTES);
        Verifier {
            salt,
            ..self.clone()
        }
    }

    fn into_secret(self) -> ScramSecret {
        let Verifier {
            salt,
            iterations,
            stored_key,
            server_key,
        } = self;
        ScramSecret::Verifier {
            salt,
            iterations,
            stored_key,
            server_key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initial(client_first: &str) -> Vec<u8> {
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend_from_slice(&(client_first.len() as i32).to_be_bytes());
        body.extend_from_slice(client_first.as_bytes());
        body
    }

    fn users(entries: &[(&str, &str)]) -> Result<Users, Error> {
        Users::new(
            &entries
                .iter()
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect(),
        )
    }

    fn salt_of(server_first: &str) -> String {
        server_first.split(',').nth(1).expect("a salt").to_string()
    }

    #[test]
    fn an_unknown_user_gets_the_same_salt_every_time_and_never_gets_in() {
        let users = users(&[("ann", "secret")]).unwrap();
        let first = initial("n,,n=,r=abc");
        let salts: Vec<String> = ["bob", "bob", "eve", "ann"]
            .map(|user| {
                salt_of(
                    &users
                        .challenge(user, users.verifier(user), &first)
                        .unwrap()
                        .0,
                )
            })
            .to_vec();
        assert_eq!(salts[0], salts[1]);
        assert_ne!(salts[0], salts[2]);
        assert_ne!(salts[0], salts[3]);
        let (server_first, challenge) = users.challenge("bob", None, &first).unwrap();
        let nonce = server_first.split(',').next().expect("a nonce");
        let proof = STANDARD.encode([7; KEY_BYTES]);
        let error = challenge
            .answer(format!("c=biws,{nonce},p={proof}").as_bytes())
            .unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_PASSWORD);
    }

    #[test]
    fn malformed_exchanges_are_refused() {
        let users = users(&[("ann", "secret")]).unwrap();
        let state = |body: &[u8]| match users.challenge("ann", users.verifier("ann"), body) {
            Ok(_) => panic!("accepted {body:?}"),
            Err(error) => error.state.to_string(),
        };
        assert_eq!(state(b""), "08P01");
        assert_eq!(state(b"PLAIN\0\0\0\0\0"), "28000");
        assert_eq!(state(b"SCRAM-SHA-256\0\xff\xff\xff\xff"), "08P01");
        assert_eq!(state(b"SCRAM-SHA-256\0\0\0\x01\0n"), "08P01");
        assert_eq!(state(&initial("p=tls-unique,,n=,r=abc")), "08P01");
        let (_, challenge) = users
            .challenge("ann", users.verifier("ann"), &initial("n,,n=,r=abc"))
            .unwrap();
        assert_eq!(
            challenge
                .answer(b"c=biws,r=wrong,p=AA==")
                .unwrap_err()
                .state
                .as_str(),
            "08P01"
        );
        assert_eq!(
            challenge.answer(b"\xff").unwrap_err().state.as_str(),
            "08P01"
        );
    }

    #[test]
    fn a_verifier_that_cannot_be_read_is_refused_at_the_start() {
        let key = STANDARD.encode([1; KEY_BYTES]);
        let good = format!("SCRAM-SHA-256$4096:c2FsdA==${key}:{key}");
        assert!(users(&[("ann", &good)]).is_ok());
        for bad in [
            "SCRAM-SHA-256$".to_string(),
            format!("SCRAM-SHA-256$0:c2FsdA==${key}:{key}"),
            format!("SCRAM-SHA-256$4096:${key}:{key}"),
            format!("SCRAM-SHA-256$4096:c2FsdA==$c2hvcnQ=:{key}"),
            format!("{good}$more"),
        ] {
            let error = users(&[("ann", &bad)]).err();
            assert!(
                matches!(error, Some(Error::Verifier { user }) if user == "ann"),
                "{bad}"
            );
        }
    }
}
