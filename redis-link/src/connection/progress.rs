//! The time when bytes last moved on a connection. It distinguishes a slow network from a dead one.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

/// The time when the peer last showed that it is there.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    /// In microseconds since the start.
    last: AtomicU64,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    pub(super) fn last(&self) -> Instant {
        self.start + Duration::from_micros(self.last.load(Ordering::Relaxed))
    }

    fn note(&self) {
        let since = self.start.elapsed().as_micros();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.last.store(since, Ordering::Relaxed);
    }
}

/// A stream that notes its progress: bytes that arrive, and bytes that are sent after others were blocked.
///
/// Only these bytes show that the peer is alive. The local buffers may hold all other bytes for ever, even if the peer
/// is long gone.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    progress: Arc<Progress>,
    /// Whether the buffers towards the peer were full.
    held_up: bool,
}

impl<S> Watched<S> {
    pub(super) const fn new(stream: S, progress: Arc<Progress>) -> Self {
        Self {
            stream,
            progress,
            held_up: false,
        }
    }

    fn written(&mut self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &result {
            Poll::Pending => self.held_up = true,
            Poll::Ready(Ok(1..)) if self.held_up => {
                self.held_up = false;
                self.progress.note();
            }
            Poll::Ready(_) => {}
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.progress.note();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, BufWriter, duplex},
        time::{advance, timeout},
    };

    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn received_bytes_are_progress() {
        let progress = Arc::new(Progress::new());
        let (near, mut far) = duplex(64);
        let mut near = Watched::new(near, Arc::clone(&progress));
        advance(STEP).await;
        far.write_all(b"hello").await.unwrap();
        assert_ne!(progress.last(), Instant::now());
        near.read_exact(&mut [0; 5]).await.unwrap();
        assert_eq!(progress.last(), Instant::now());
        advance(STEP).await;
        assert!(timeout(STEP, near.read_u8()).await.is_err());
        assert_eq!(progress.last(), Instant::now() - 2 * STEP);
    }

    #[tokio::test(start_paused = true)]
    async fn sent_bytes_are_progress_only_once_the_peer_reads() {
        let progress = Arc::new(Progress::new());
        let start = Instant::now();
        let (near, mut far) = duplex(64);
        let mut near = Watched::new(near, Arc::clone(&progress));
        for _ in 0..4 {
            advance(STEP).await;
            near.write_all(&[0; 16]).await.unwrap();
        }
        assert_eq!(progress.last(), start, "it only lies in a buffer");
        assert!(timeout(STEP, near.write_all(&[0; 16])).await.is_err());
        assert_eq!(progress.last(), start, "nothing went out");
        far.read_exact(&mut [0; 16]).await.unwrap();
        near.write_all(&[0; 16]).await.unwrap();
        assert_eq!(progress.last(), Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_keeps_what_is_written_is_flushed_and_closed() {
        let (near, mut far) = duplex(64);
        let mut near = Watched::new(BufWriter::new(near), Arc::new(Progress::new()));
        near.write_all(b"hello").await.unwrap();
        near.flush().await.unwrap();
        let mut heard = [0; 5];
        let flushed = timeout(STEP, far.read_exact(&mut heard)).await;
        assert_eq!(flushed.expect("it is flushed").unwrap(), 5);
        near.write_all(b"bye").await.unwrap();
        near.shutdown().await.unwrap();
        let mut rest = Vec::new();
        let closed = timeout(STEP, far.read_to_end(&mut rest)).await;
        assert_eq!(closed.expect("it is closed").unwrap(), 3);
    }
}
