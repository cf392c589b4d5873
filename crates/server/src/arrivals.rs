//! Sockets to listen on: an address, and files for who is on this machine.
//!
//! Relies on: tokio.  Promises: a file that a killed server has left is replaced, one that somebody listens on is not;
//! the file goes with its listener.  Does not: serve; `desks` and `door` do.
//!
//! A Unix socket spares both sides the network's checks and copies. Its file is named as PostgreSQL names it, which is
//! where clients look that are given a directory for a host: `psql -h /run/quintet -p 5433`.

mod local;

use crate::config::Error;
use crate::door::Io;
use local::LocalStream;
use quintet_rt::{Disk, RealDisk};
use std::fmt;
use std::fs::Permissions;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as BlockingUnixStream;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};

/// Sockets waiting to be accepted, as the operating system counts them.
const LISTEN_QUEUE: u32 = 1024;

/// Where somebody comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Through the network, perhaps of this machine.
    Network(SocketAddr),
    /// Through a Unix socket.
    Local {
        /// The system's number of the user that the other side runs as.
        user: u32,
    },
}

impl Origin {
    /// Whether it is this machine.
    pub fn is_here(&self) -> bool {
        match self {
            Origin::Network(address) => address.ip().to_canonical().is_loopback(),
            Origin::Local { .. } => true,
        }
    }

    /// The address, if it has one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Origin::Network(address) => Some(*address),
            Origin::Local { .. } => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Network(address) => address.ip().fmt(f),
            Origin::Local { .. } => f.write_str("[local]"),
        }
    }
}

/// A connection that was accepted.
pub(crate) enum Accepted {
    Network(TcpStream),
    Local(UnixStream),
}

impl Accepted {
    pub fn origin(&self) -> io::Result<Origin> {
        Ok(match self {
            Accepted::Network(stream) => Origin::Network(stream.peer_addr()?),
            Accepted::Local(stream) => Origin::Local {
                user: stream.peer_cred()?.uid(),
            },
        })
    }

    /// From the runtime that accepted it to the one that calls.
    pub fn into_io(self) -> io::Result<Io> {
        Ok(match self {
            Accepted::Network(stream) => Box::new(TcpStream::from_std(stream.into_std()?)?),
            Accepted::Local(stream) => Box::new(LocalStream::new(stream.into_std()?)?),
        })
    }
}

impl From<TcpStream> for Accepted {
    fn from(stream: TcpStream) -> Accepted {
        Accepted::Network(stream)
    }
}

impl From<UnixStream> for Accepted {
    fn from(stream: UnixStream) -> Accepted {
        Accepted::Local(stream)
    }
}

/// What connections are accepted from.
pub(crate) trait Listener: Send + Sync + 'static {
    type Stream: Send + 'static;

    /// The next one.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        Ok(self.accept().await?.0)
    }
}

impl Listener for SocketFile {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

/// Listens on an address.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let open = || -> io::Result<TcpListener> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        // What is accepted inherits these.
        socket.set_keepalive(true)?;
        socket.set_nodelay(true)?;
        socket.bind(address)?;
        socket.listen(LISTEN_QUEUE)
    };
    open().map_err(|source| Error::Listen { address, source })
}

/// A Unix socket that is listened on. Its file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
}

impl SocketFile {
    /// Listens on the file for a port in a directory; `mode`: who may connect, as bits of a file's permissions.
    pub fn listen(directory: &Path, port: u16, mode: u32) -> Result<SocketFile, Error> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        if is_listened_on(&path) {
            return Err(Error::SocketTaken { path });
        }
        let wrong = |source| Error::Socket {
            path: path.clone(),
            source,
        };
        if path.symlink_metadata().is_ok() {
            let removed = RealDisk.remove(&path);
            removed.map_err(|error| wrong(io::Error::other(error)))?;
        }
        let listener = UnixListener::bind(&path).map_err(wrong)?;
        // From here on the file is ours to remove.
        let file = SocketFile { listener, path };
        std::fs::set_permissions(&file.path, Permissions::from_mode(mode)).map_err(|source| {
            Error::Socket {
                path: file.path.clone(),
                source,
            }
        })?;
        Ok(file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = RealDisk.remove(&self.path) {
            tracing::debug!(%error, "a socket's file is left");
        }
    }
}

/// Whether anybody answers there. Who was killed leaves a file at which nobody does.
fn is_listened_on(path: &Path) -> bool {
    BlockingUnixStream::connect(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: u32 = 0o700;

    #[tokio::test]
    async fn a_file_is_replaced_if_nobody_listens_and_goes_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".s.PGSQL.7");
        // As a killed server leaves it.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let file = SocketFile::listen(dir.path(), 7, MODE).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        let taken = SocketFile::listen(dir.path(), 7, MODE).unwrap_err();
        assert!(taken.to_string().contains(".s.PGSQL.7"), "{taken}");
        let client = UnixStream::connect(&path).await;
        // The look whether somebody listens came first.
        file.next().await.unwrap();
        let accepted = Accepted::from(file.next().await.unwrap());
        let Origin::Local { user } = accepted.origin().unwrap() else {
            panic!("it came through a file");
        };
        assert_eq!(user, client.unwrap().peer_cred().unwrap().uid());
        drop(file);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_named() {
        let error = SocketFile::listen(Path::new("/nowhere at all"), 7, MODE).unwrap_err();
        assert!(error.to_string().contains("/nowhere at all"), "{error}");
    }
}
