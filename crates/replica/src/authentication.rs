//! Proving who connects: trust, password, md5, SCRAM-SHA-256.
//!
//! Relies on: `postgres-protocol` for what the methods compute.  Promises: a method that is not offered is named.
//! Does not: bind the proof to a channel, which takes TLS.

use crate::connection::Connection;
use crate::error::Error;
use crate::frame::{Frame, Reader};
use bytes::Bytes;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::frontend;

const SCRAM: &str = "SCRAM-SHA-256";

/// Answers the server's questions until it is content.
pub(crate) async fn prove(connection: &mut Connection) -> Result<(), Error> {
    loop {
        let (code, rest) = next(connection).await?;
        match code {
            0 => return Ok(()),
            3 => {
                let password = password(connection)?;
                send(connection, |out| {
                    frontend::password_message(password.as_bytes(), out)
                })?;
            }
            5 => {
                let password = password(connection)?;
                let salt: [u8; 4] = rest[..]
                    .try_into()
                    .map_err(|_| connection.protocol("a salt of another length".to_owned()))?;
                let user = connection.server().user.clone();
                let hash = md5_hash(user.as_bytes(), password.as_bytes(), salt);
                send(connection, |out| {
                    frontend::password_message(hash.as_bytes(), out)
                })?;
            }
            10 => scram(connection, &rest).await?,
            7 | 8 => return Err(refused(connection, "GSSAPI")),
            9 => return Err(refused(connection, "SSPI")),
            code => return Err(refused(connection, &format!("method {code}"))),
        }
    }
}

async fn scram(connection: &mut Connection, offered: &[u8]) -> Result<(), Error> {
    if !offered
        .split(|byte| *byte == 0)
        .any(|name| name == SCRAM.as_bytes())
    {
        let names = String::from_utf8_lossy(offered).replace('\0', " ");
        return Err(refused(connection, names.trim()));
    }
    let password = password(connection)?;
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    send(connection, |out| {
        frontend::sasl_initial_response(SCRAM, scram.message(), out)
    })?;
    let challenge = expect(connection, 11).await?;
    scram
        .update(&challenge)
        .map_err(|error| connection.protocol(error.to_string()))?;
    send(connection, |out| {
        frontend::sasl_response(scram.message(), out)
    })?;
    let proof = expect(connection, 12).await?;
    scram
        .finish(&proof)
        .map_err(|error| connection.protocol(error.to_string()))
}

async fn expect(connection: &mut Connection, expected: u32) -> Result<Bytes, Error> {
    match next(connection).await? {
        (code, rest) if code == expected => Ok(rest),
        (code, _) => {
            Err(connection.protocol(format!("authentication {code} instead of {expected}")))
        }
    }
}

/// The next question of the server: its number, and what belongs to it.
async fn next(connection: &mut Connection) -> Result<(u32, Bytes), Error> {
    let frame = connection.next_frame().await?;
    match frame.kind() {
        b'R' => question(&frame).map_err(|problem| connection.protocol(problem)),
        b'E' => Err(connection.server_error(&frame)),
        kind => Err(connection.protocol(format!("a message {kind:#04x} before the login"))),
    }
}

fn question(frame: &Frame) -> Result<(u32, Bytes), String> {
    let body = frame.body();
    let code = Reader::new(&body).u32()?;
    Ok((code, body.slice(4..)))
}

fn send(
    connection: &mut Connection,
    write: impl FnOnce(&mut bytes::BytesMut) -> std::io::Result<()>,
) -> Result<(), Error> {
    // Sent by the wait for the answer.
    write(connection.output()).map_err(|error| connection.protocol(error.to_string()))
}

fn password(connection: &Connection) -> Result<String, Error> {
    connection
        .server()
        .password
        .clone()
        .ok_or_else(|| refused(connection, "a password, and the address has none"))
}

fn refused(connection: &Connection, method: &str) -> Error {
    Error::Authentication {
        server: connection.server().to_string(),
        method: method.to_owned(),
    }
}
