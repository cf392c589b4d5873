//! A Unix socket whose thread is woken when there is something to read, and not when the other side has read.
//!
//! Relies on: tokio's halves of pipes, which wait for one thing each and do not look at what they were given.  Promises: reading and
//! writing as tokio's own `UnixStream` has them.  Does not: connect.
//!
//! Linux tells whoever waits for room in a Unix socket of every message that the other side takes out of it, whether there was
//! room before or not; with tokio's stream, which always waits for both, each answer that a client read woke the desk that had
//! sent it. Here room is waited for only by who has found none.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

/// See the module. Its parts are descriptors of one socket.
pub(super) struct LocalStream {
    read: Receiver,
    write: UnixStream,
    /// While it waits for room.
    waits: Option<Sender>,
}

impl LocalStream {
    /// Of a socket that does not block, at the calling runtime.
    pub fn new(stream: UnixStream) -> io::Result<LocalStream> {
        Ok(LocalStream {
            read: Receiver::from_owned_fd_unchecked(again(&stream)?)?,
            write: stream,
            waits: None,
        })
    }
}

fn again(stream: &UnixStream) -> io::Result<OwnedFd> {
    Ok(stream.try_clone()?.into())
}

impl AsyncRead for LocalStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(context, buf)
    }
}

impl AsyncWrite for LocalStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Some(waits) = &mut self.waits {
                let written = ready!(Pin::new(waits).poll_write(context, bytes));
                self.waits = None;
                return Poll::Ready(written);
            }
            match self.write.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let waits = Sender::from_owned_fd_unchecked(again(&self.write)?)?;
                    self.waits = Some(waits);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.write.shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn pair() -> (LocalStream, LocalStream) {
        let (one, two) = UnixStream::pair().unwrap();
        let stream = |stream: UnixStream| {
            stream.set_nonblocking(true).unwrap();
            LocalStream::new(stream).unwrap()
        };
        (stream(one), stream(two))
    }

    /// More than the socket has room for goes through, both ways at once, and the end is told.
    #[tokio::test]
    async fn what_is_written_is_read_until_the_end() {
        const BYTES: usize = 4 << 20;
        let (one, two) = pair();
        let side = |stream: LocalStream, seed: u8| async move {
            let (mut read, mut write) = tokio::io::split(stream);
            let sent: Vec<u8> = (0..BYTES).map(|at| (at / 7) as u8 ^ seed).collect();
            let send = async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            };
            let mut received = Vec::new();
            let (_, count) = tokio::join!(send, read.read_to_end(&mut received));
            assert_eq!(count.unwrap(), BYTES);
            (sent, received)
        };
        let (one, two) = tokio::join!(side(one, 1), side(two, 2));
        assert!(one.0 == two.1 && two.0 == one.1);
    }

    #[tokio::test]
    async fn who_has_gone_is_noticed() {
        let (mut one, two) = pair();
        drop(two);
        assert_eq!(one.read(&mut [0; 8]).await.unwrap(), 0);
        let error = one.write_all(b"to nobody").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    /// The other side's reading wakes nobody.
    #[tokio::test]
    async fn nobody_is_woken_because_an_answer_was_read() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::task::Wake;
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (mut one, mut two) = pair();
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Arc::clone(&woken).into();
        let mut context = Context::from_waker(&waker);
        one.write_all(b"answer").await.unwrap();
        let mut bytes = [0; 8];
        let mut buf = ReadBuf::new(&mut bytes);
        assert!(
            Pin::new(&mut one)
                .poll_read(&mut context, &mut buf)
                .is_pending()
        );
        two.read_exact(&mut [0; 6]).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        two.write_all(b"next").await.unwrap();
        while woken.0.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    }
}
