//! A socket that gives up on a reader who does not read.
//!
//! While a write waits and the socket takes no byte for the whole allowance, the write fails and the connection ends.
//! Whoever reads at all, however slowly, is kept. Nothing is buffered here.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail when they stall.
pub(crate) struct Stall<T> {
    inner: T,
    allowance: Duration,
    /// Made at the first write that waits: most connections never have one.
    deadline: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<T> Stall<T> {
    pub(crate) fn new(inner: T, allowance: Duration) -> Self {
        Stall { inner, allowance, deadline: None, waiting: false }
    }

    /// Starts, or goes on with, the wait of a write; an error once it was too long.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let until = Instant::now() + self.allowance;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if !self.waiting {
            self.waiting = true;
            deadline.as_mut().reset(until);
        }
        ready!(deadline.as_mut().poll(cx));
        metrics::counter!(crate::metrics::CLIENTS_DROPPED).increment(1);
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))
    }

    fn wrote<R>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        match result {
            Poll::Ready(result) => {
                self.waiting = false;
                Poll::Ready(result)
            }
            Poll::Pending => self.wait(cx).map(Err),
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stall<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stall<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.wrote(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.wrote(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_never_reads_is_given_up() {
        let (near, _far) = tokio::io::duplex(16);
        let mut near = Stall::new(near, Duration::from_secs(10));
        let error = near.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_kept() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = Stall::new(near, Duration::from_secs(10));
        let reader = tokio::spawn(async move {
            let mut beat = tokio::time::interval(Duration::from_secs(9));
            let mut got = 0;
            while got < 64 {
                beat.tick().await;
                let mut bytes = [0; 8];
                got += far.read(&mut bytes).await.unwrap();
            }
        });
        near.write_all(&[0; 64]).await.unwrap();
        reader.await.unwrap();
    }
}
