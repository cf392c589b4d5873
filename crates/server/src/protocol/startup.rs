//! The packets before the first message: encryption asked for, a cancel request, a log-in.
//!
//! Relies on: `frame::packet_body` for the packet's bounds.  Promises: a packet is understood or
//! refused.  Does not: answer it.
//!
//! ```text
//! offset 0   u32   code: version 3.x as x | 3 << 16, or a request number
//! offset 4         3.x: name, value, name, value …, each ended by a zero byte, then a zero byte
//!                  cancel: u32 process id, secret (4 bytes)
//! ```

use super::{Cursor, violation};
use quintet_base::{SqlError, SqlResult, SqlState};

/// Request numbers are versions that no protocol will ever have.
const CANCEL_REQUEST: u32 = 1234 << 16 | 5678;
const SSL_REQUEST: u32 = 1234 << 16 | 5679;
const GSS_REQUEST: u32 = 1234 << 16 | 5680;

/// Newest minor version of protocol 3 that is spoken here.
pub const MINOR_VERSION: u16 = 0;

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet {
    /// TLS wanted.
    Ssl,
    /// GSSAPI encryption wanted.
    Gss,
    /// Cancel what another connection is doing.
    Cancel {
        /// As BackendKeyData named it.
        process_id: i32,
        /// As BackendKeyData told it.
        secret: [u8; 4],
    },
    /// Log in.
    Startup(Startup),
}

/// Who logs in, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Startup {
    /// User name.
    pub user: String,
    /// Database name; the user's if none was given.
    pub database: String,
    /// Settings for the session, those of `options` included.
    pub settings: Vec<(String, String)>,
    /// The minor version asked for.
    pub minor: u16,
    /// Protocol options (`_pq_.…`) asked for; none is known here.
    pub protocol_options: Vec<String>,
}

/// Reads a packet, without its length.
///
/// # Errors
/// `08P01` for what is no packet, `0A000` for another protocol or a replication connection, `28000`
/// without a user.
pub fn parse(body: &[u8]) -> SqlResult<Packet> {
    let mut rest = Cursor(body);
    match rest.u32()? {
        SSL_REQUEST => Ok(Packet::Ssl),
        GSS_REQUEST => Ok(Packet::Gss),
        CANCEL_REQUEST => {
            let process_id = rest.i32()?;
            let secret = rest
                .0
                .try_into()
                .map_err(|_| violation("invalid length of cancel request"))?;
            Ok(Packet::Cancel { process_id, secret })
        }
        version if version >> 16 == 3 => login(version as u16, rest).map(Packet::Startup),
        version => {
            let (major, minor) = (version >> 16, version & 0xffff);
            Err(
                SqlError::unsupported(format!("frontend protocol {major}.{minor}"))
                    .hint("The server speaks protocol 3.0."),
            )
        }
    }
}

fn login(minor: u16, mut rest: Cursor<'_>) -> SqlResult<Startup> {
    let mut startup = Startup {
        minor,
        ..Startup::default()
    };
    loop {
        let name = rest.text()?;
        if name.is_empty() {
            break;
        }
        let value = rest.text()?;
        match name {
            "user" => startup.user = value.to_string(),
            "database" => startup.database = value.to_string(),
            "options" => options(value, &mut startup.settings)?,
            "replication" if matches!(value, "false" | "off" | "no" | "0") => {}
            "replication" => return Err(SqlError::unsupported("a replication connection")),
            _ if name.starts_with("_pq_.") => startup.protocol_options.push(name.to_string()),
            _ => startup.settings.push((name.to_string(), value.to_string())),
        }
    }
    if !rest.0.is_empty() {
        return Err(violation(
            "invalid startup packet layout: expected terminator as last byte",
        ));
    }
    if startup.user.is_empty() {
        return Err(SqlError::new(
            SqlState::INVALID_AUTHORIZATION,
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if startup.database.is_empty() {
        startup.database = startup.user.clone();
    }
    Ok(startup)
}

/// `-c name=value` and `--name=value`, as PostgreSQL's command line takes them; a backslash keeps the
/// next character from ending a word.
fn options(text: &str, settings: &mut Vec<(String, String)>) -> SqlResult<()> {
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => setting.to_string(),
            (_, Some("")) => words.next().unwrap_or_default(),
            (_, Some(setting)) => setting.to_string(),
            (None, None) => String::new(),
        };
        let Some((name, value)) = setting.split_once('=') else {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("invalid command-line argument for server process: {word}"),
            ));
        };
        // A dash is how a command line writes an underscore.
        settings.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            c if c.is_ascii_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u32, rest: &[u8]) -> Vec<u8> {
        [&code.to_be_bytes(), rest].concat()
    }

    #[test]
    fn requests_are_known_by_their_numbers() {
        assert_eq!(parse(b"\x04\xd2\x16\x2f").unwrap(), Packet::Ssl);
        assert_eq!(parse(b"\x04\xd2\x16\x30").unwrap(), Packet::Gss);
        assert_eq!(
            parse(b"\x04\xd2\x16\x2e\0\0\0\x07abcd").unwrap(),
            Packet::Cancel {
                process_id: 7,
                secret: *b"abcd"
            }
        );
    }

    #[test]
    fn a_login_takes_user_database_and_settings() {
        let body = packet(
            3 << 16,
            b"user\0ann\0application_name\0psql\0options\0-c a=1 --b-c=x\\ y -cd=\0\0",
        );
        let Packet::Startup(startup) = parse(&body).unwrap() else {
            panic!("a login")
        };
        assert_eq!(
            (startup.user.as_str(), startup.database.as_str()),
            ("ann", "ann")
        );
        let settings: Vec<(&str, &str)> = startup
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            settings,
            [
                ("application_name", "psql"),
                ("a", "1"),
                ("b_c", "x y"),
                ("d", "")
            ]
        );

        let body = packet(3 << 16 | 2, b"user\0ann\0database\0shop\0_pq_.wish\0on\0\0");
        let Packet::Startup(startup) = parse(&body).unwrap() else {
            panic!("a login")
        };
        assert_eq!((startup.database.as_str(), startup.minor), ("shop", 2));
        assert_eq!(startup.protocol_options, ["_pq_.wish"]);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let cases: [(u32, &[u8], &str); 10] = [
            (2 << 16, b"", "0A000"),
            (4 << 16, b"user\0ann\0\0", "0A000"),
            (3 << 16, b"", "08P01"),
            (3 << 16, b"user", "08P01"),
            (3 << 16, b"user\0ann", "08P01"),
            (3 << 16, b"user\0ann\0", "08P01"),
            (3 << 16, b"user\0ann\0\0more", "08P01"),
            (3 << 16, b"user\0\xff\0\0", "22021"),
            (3 << 16, b"database\0shop\0\0", "28000"),
            (3 << 16, b"user\0ann\0options\0garbage\0\0", "42601"),
        ];
        for (code, rest, state) in cases {
            let error = parse(&packet(code, rest)).unwrap_err();
            assert_eq!(error.state.as_str(), state, "{code:#x} {rest:?}");
        }
        assert!(
            parse(&packet(CANCEL_REQUEST, b"\0\0\0\x07abc")).is_err(),
            "a short secret"
        );
        assert!(
            parse(&packet(CANCEL_REQUEST, b"\0\0\0\x07abcde")).is_err(),
            "a long secret"
        );
        assert!(parse(b"\0\x03").is_err());
        assert!(parse(&packet(3 << 16, b"user\0a\0replication\0database\0\0")).is_err());
    }
}
