//! Where a server is and who connects to it.
//!
//! Relies on: nothing.  Promises: what is printed of it has no password.  Does not: look up names before it
//! connects, or encrypt: TLS is not offered to replicas yet, and `sslmode=require` is refused.
//!
//! ```text
//!   postgres://user:password@host:5432/database
//!   postgres://user@[::1]:5432/database
//!   postgres://user@%2Fvar%2Frun%2Fpostgresql:5432/database        the directory of a Unix socket
//!   postgres:///database?host=/var/run/postgresql&user=ann         the same said otherwise
//!   postgres://ann@host/database?options=-c%20work_mem%3D64MB      and what the session begins with
//! ```

use crate::connection::Connection;
use crate::error::Error;
use std::fmt;
use std::time::Duration;

/// As PostgreSQL's own default.
const PORT: u16 = 5432;

/// How long a connection may take until it is logged in, unless said otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The address of a PostgreSQL server and the login.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    /// Switches that a session begins with, as libpq's `options`.
    pub(crate) options: Option<String>,
}

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Until it is logged in.
    pub connect_timeout: Duration,
    /// What the session is called.
    pub application: String,
    /// Parameters that it starts with, such as `TimeZone`.
    pub parameters: Vec<(String, String)>,
}

impl Settings {
    /// A session of this name, everything else as usual.
    pub fn new(application: &str) -> Settings {
        Settings {
            connect_timeout: CONNECT_TIMEOUT,
            application: application.to_owned(),
            parameters: Vec::new(),
        }
    }

    /// And with this parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Settings {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Server {
    /// Reads an address.
    ///
    /// # Errors
    /// [`Error::Address`], which says what is wrong.
    pub fn parse(url: &str) -> Result<Server, Error> {
        read(url).map_err(|problem| Error::Address {
            url: without_password(url),
            problem,
        })
    }

    /// Opens a session.
    ///
    /// # Errors
    /// Those of the connection and the login.
    pub async fn connect(&self, settings: &Settings) -> Result<Connection, Error> {
        Connection::open(self, settings).await
    }

    /// The host's name or address, or the socket's directory.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The path of the socket, if it is one.
    pub(crate) fn socket(&self) -> Option<String> {
        self.host
            .starts_with('/')
            .then(|| format!("{}/.s.PGSQL.{}", self.host, self.port))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}

/// A password must not get into a log by way of a structure that holds a server.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

fn read(url: &str) -> Result<Server, &'static str> {
    let rest = url
        .strip_prefix("postgres://")
        .or_else(|| url.strip_prefix("postgresql://"))
        .ok_or("it has to begin with postgres://")?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, place) = match authority.rsplit_once('@') {
        Some((login, place)) => (login, place),
        None => ("", authority),
    };
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(decoded(password)?)),
        None => (login, None),
    };
    let (host, port) = place_of(place)?;
    let mut server = Server {
        host: decoded(host)?,
        port,
        user: decoded(user)?,
        password,
        database: decoded(database)?,
        options: None,
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or("a parameter has no value")?;
        let value = decoded(value)?;
        match name {
            "host" => server.host = value,
            "port" => server.port = value.parse().map_err(|_| "the port is no number")?,
            "user" => server.user = value,
            "password" => server.password = Some(value),
            "dbname" => server.database = value,
            "options" => server.options = Some(value),
            "sslmode" if matches!(&*value, "disable" | "allow" | "prefer") => {}
            "sslmode" => return Err("TLS is not offered to replicas"),
            _ => return Err("it has a parameter that is not known"),
        }
    }
    if server.host.is_empty() {
        server.host = "localhost".to_owned();
    }
    if server.user.is_empty() {
        return Err("it names no user");
    }
    if server.database.is_empty() {
        server.database.clone_from(&server.user);
    }
    let fields = [&server.host, &server.user, &server.database];
    if (fields.into_iter().chain(&server.options)).any(|field| field.contains('\0')) {
        return Err("it has a zero byte");
    }
    Ok(server)
}

/// Host and port.
fn place_of(place: &str) -> Result<(&str, u16), &'static str> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("a bracket is not closed")?;
            match after.strip_prefix(':') {
                Some(port) => (host, port),
                None if after.is_empty() => (host, ""),
                None => return Err("something stands between host and port"),
            }
        }
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let port = match port {
        "" => PORT,
        port => port.parse().map_err(|_| "the port is no number")?,
    };
    Ok((host, port))
}

/// Undoes `%2F` and its like.
fn decoded(text: &str) -> Result<String, &'static str> {
    const PROBLEM: &str = "a percent sign is not followed by two hexadecimal digits";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(PROBLEM)?;
        let digits = std::str::from_utf8(digits).map_err(|_| PROBLEM)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| PROBLEM)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8")
}

/// For messages.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let hidden = if query.is_empty() { "" } else { "?…" };
    format!("{scheme}://…@{place}{hidden}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        let found = match Server::parse(url) {
            Ok(server) => format!(
                "{} {} {} {:?} {}",
                server.host, server.port, server.user, server.password, server.database
            ),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{url}");
    }

    #[test]
    fn an_address_has_all_its_parts() {
        check("postgres://ann@db/shop", "db 5432 ann None shop");
        check(
            "postgresql://ann:p%40:ss@db:99",
            "db 99 ann Some(\"p@:ss\") ann",
        );
        check("postgres://ann@[::1]:7/x", "::1 7 ann None x");
        check("postgres://ann@%2Frun%2Fpg:7/x", "/run/pg 7 ann None x");
        check(
            "postgres:///x?host=/run/pg&user=ann&port=8&sslmode=disable",
            "/run/pg 8 ann None x",
        );
    }

    #[test]
    fn what_a_session_begins_with_is_read() {
        let server = Server::parse("postgres://ann@db?options=-c%20a%3D1").unwrap();
        assert_eq!(server.options.as_deref(), Some("-c a=1"));
        assert!(Server::parse("postgres://ann@db?options=%00").is_err());
    }

    #[test]
    fn what_is_no_address_is_refused_without_telling_the_password() {
        let head = "is no address of a PostgreSQL server:";
        check(
            "ann@db",
            &format!("\"ann@db\" {head} it has to begin with postgres://"),
        );
        check(
            "postgres://ann:secret@db:x/y",
            &format!("\"postgres://…@db:x/y\" {head} the port is no number"),
        );
        check(
            "postgres://db",
            &format!("\"postgres://…@db\" {head} it names no user"),
        );
        check(
            "postgres://a@db?sslmode=require",
            &format!("\"postgres://…@db?…\" {head} TLS is not offered to replicas"),
        );
        let server = Server::parse("postgres://ann:secret@db").unwrap();
        assert!(!format!("{server:?} {server}").contains("secret"));
    }
}
