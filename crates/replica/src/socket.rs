//! The bytes below a session: TCP, or a Unix socket.
//!
//! Relies on: tokio.  Promises: writing goes on while the other side waits for us to read, so that a long
//! sequence of messages cannot block on its own answers; what was read or written is accounted for even if the future is dropped.
//! Does not: know what a message is.

use crate::server::Server;
use bytes::{Buf, BytesMut};
use std::io::{Error, ErrorKind};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::{TcpStream, UnixStream};

/// Read in one go: several rows' worth, less than a socket's buffer.
const READ_BYTES: usize = 16 << 10;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub async fn connect(server: &Server) -> Result<Socket, Error> {
        if let Some(path) = server.socket() {
            return Ok(Socket::Unix(UnixStream::connect(path).await?));
        }
        let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
        // A pipeline is one write; waiting for more would cost a round trip each time.
        stream.set_nodelay(true)?;
        Ok(Socket::Tcp(stream))
    }

    async fn ready(&self, interest: Interest) -> Result<(), Error> {
        match self {
            Socket::Tcp(stream) => stream.ready(interest).await.map(drop),
            Socket::Unix(stream) => stream.ready(interest).await.map(drop),
        }
    }

    fn try_read(&self, input: &mut BytesMut) -> Result<usize, Error> {
        input.reserve(READ_BYTES);
        match self {
            Socket::Tcp(stream) => stream.try_read_buf(input),
            Socket::Unix(stream) => stream.try_read_buf(input),
        }
    }

    fn try_write(&self, output: &[u8]) -> Result<usize, Error> {
        match self {
            Socket::Tcp(stream) => stream.try_write(output),
            Socket::Unix(stream) => stream.try_write(output),
        }
    }

    /// Appends what has arrived; waits if that is nothing. Zero bytes mean that the other side has closed.
    pub async fn read(&mut self, input: &mut BytesMut) -> Result<usize, Error> {
        input.reserve(READ_BYTES);
        // A stream knows that nothing is left when it has filled a part of its buffer; `try_read` would ask the system
        // again, in vain, before each wait.
        match self {
            Socket::Tcp(stream) => stream.read_buf(input).await,
            Socket::Unix(stream) => stream.read_buf(input).await,
        }
    }

    /// Writes all of `output`, and appends to `input` what arrives meanwhile.
    pub async fn write(
        &mut self,
        output: &mut BytesMut,
        input: &mut BytesMut,
    ) -> Result<(), Error> {
        while !output.is_empty() {
            match self.try_write(output) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => output.advance(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.ready(Interest::READABLE | Interest::WRITABLE).await?;
                    match self.try_read(input) {
                        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                        Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                        _ => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
