//! What is kept of a password: a SCRAM-SHA-256 verifier (RFC 5802, RFC 7677), as PostgreSQL writes it.
//!
//! Relies on: `sha2`.  Promises: the password cannot be told from it; one that a client has made itself is kept as it is, if
//! it can be read.  Does not: check proofs; the server does.
//!
//! ```text
//! SCRAM-SHA-256$4096:salt$StoredKey:ServerKey        the last three in base 64
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// What every verifier begins with.
const PREFIX: &str = "SCRAM-SHA-256$";
/// As PostgreSQL's.
const ITERATIONS: u32 = 4096;
/// SHA-256 takes its input by so many bytes.
const BLOCK_BYTES: usize = 64;
/// And gives so many.
const KEY_BYTES: usize = 32;

type Key = [u8; KEY_BYTES];

/// A password's verifier.
pub fn of_password(password: &str, salt: &[u8]) -> String {
    let prepared = stringprep::saslprep(password);
    let prepared = prepared.as_deref().unwrap_or(password);
    let salted = salted(prepared.as_bytes(), salt);
    let client_key = hmac(&salted, &[b"Client Key"]);
    let stored_key: Key = Sha256::digest(client_key).into();
    let server_key = hmac(&salted, &[b"Server Key"]);
    format!(
        "{PREFIX}{ITERATIONS}:{}${}:{}",
        STANDARD.encode(salt),
        STANDARD.encode(stored_key),
        STANDARD.encode(server_key)
    )
}

/// Whether this is a verifier already.
pub fn is_verifier(text: &str) -> bool {
    let parts = || {
        let (iterations, rest) = text.strip_prefix(PREFIX)?.split_once(':')?;
        let (salt, keys) = rest.split_once('$')?;
        let (stored, server) = keys.split_once(':')?;
        let is_key = |text| {
            STANDARD
                .decode(text)
                .is_ok_and(|key| key.len() == KEY_BYTES)
        };
        let salted = STANDARD.decode(salt).is_ok_and(|salt| !salt.is_empty());
        let repeated = iterations
            .parse::<u32>()
            .is_ok_and(|n| (1..=10_000_000).contains(&n));
        Some(salted && repeated && is_key(stored) && is_key(server))
    };
    parts() == Some(true)
}

/// PBKDF2 with one block (RFC 8018).
fn salted(password: &[u8], salt: &[u8]) -> Key {
    let mut round = hmac(password, &[salt, &1u32.to_be_bytes()]);
    let mut key = round;
    for _ in 1..ITERATIONS {
        round = hmac(password, &[&round]);
        key.iter_mut().zip(round).for_each(|(to, from)| *to ^= from);
    }
    key
}

/// HMAC (RFC 2104).
fn hmac(key: &[u8], message: &[&[u8]]) -> Key {
    let mut block = [0; BLOCK_BYTES];
    match key.len() > BLOCK_BYTES {
        true => block[..KEY_BYTES].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let padded = |byte: u8| block.map(|b| b ^ byte);
    let mut inner = Sha256::new();
    inner.update(padded(0x36));
    message.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new();
    outer.update(padded(0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3, whose password is `pencil`.
    #[test]
    fn the_proof_of_the_standard_s_example_fits_the_verifier() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = of_password("pencil", &salt);
        assert!(is_verifier(&verifier), "{verifier}");
        let server_key = STANDARD
            .decode(verifier.rsplit(':').next().unwrap())
            .unwrap();
        let message = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
            c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = hmac(&server_key, &[message.as_bytes()]);
        assert_eq!(
            STANDARD.encode(signature),
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
    }

    #[test]
    fn a_password_is_no_verifier() {
        for text in [
            "",
            "secret",
            "SCRAM-SHA-256$",
            "SCRAM-SHA-256$4096:c2FsdA==$YQ==:YQ==",
        ] {
            assert!(!is_verifier(text), "{text}");
        }
    }
}
