//! The message of a server that closes a connection as soon as it is opened.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use redis::{ErrorKind, RedisError, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tls;

/// Longer than any of these messages.
const LONGEST: usize = 4096;
/// The text for a server that hangs up at once.
const MUTE: &str = "the other side closed it without a word (a port that speaks TLS does so: then \
                    use rediss://)";
/// The first bytes of a TLS alert.
const ALERT: &[u8] = &[0x15, 0x03];

/// The bytes that came over a connection before it was in use: a server that refuses the connection says why.
#[derive(Debug, Default)]
pub(super) struct FirstBytes {
    /// Whether the connection goes to a port without TLS on the client's side.
    is_plain: bool,
    is_over: AtomicBool,
    heard: Mutex<Vec<u8>>,
    /// The reason why nothing more could be read.
    failure: Mutex<Option<io::Error>>,
}

impl FirstBytes {
    /// The first bytes without TLS, from a port that may expect TLS.
    pub(super) fn plain() -> Self {
        Self {
            is_plain: true,
            ..Self::default()
        }
    }

    /// Records nothing more: the connection is in use now.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        *self.heard() = Vec::new();
    }

    /// The reason why the server refused the connection: the server's own message, if it sent one, instead of the end
    /// of the connection that followed.
    pub(super) fn reason(&self, error: RedisError) -> RedisError {
        let heard = self.heard();
        if let Ok(Value::ServerError(refusal)) = redis::parse_redis_value(&heard) {
            return refusal.into();
        }
        if heard.starts_with(ALERT) {
            let text = "it speaks TLS on this port: use rediss://";
            return (ErrorKind::InvalidClientConfig, "TLS", text.to_owned()).into();
        }
        let failure = lock(&self.failure).take();
        let is_end = match &failure {
            Some(failure) => is_closed(failure),
            // The redis crate's words for an end without a failure.
            None => error.to_string() == "broken pipe",
        };
        if self.is_plain && heard.is_empty() && is_end {
            return io::Error::new(io::ErrorKind::ConnectionReset, MUTE).into();
        }
        match failure {
            Some(failure) => tls::reason(failure),
            None => error,
        }
    }

    /// Keeps the reason why nothing can be read, and returns an error for the reader.
    fn fail(&self, error: io::Error) -> io::Error {
        let failure = error.kind().into();
        *lock(&self.failure) = Some(error);
        failure
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn heard(&self) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.heard)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that records its input until the [`FirstBytes`] is over.
///
/// A server without room for another client sends a message and closes at once. A write then fails, and that failure
/// must not keep the backend from reading the message.
#[derive(Debug)]
pub(super) struct Recorded<S> {
    stream: S,
    first: Arc<FirstBytes>,
}

impl<S> Recorded<S> {
    pub(super) const fn new(stream: S, first: Arc<FirstBytes>) -> Self {
        Self { stream, first }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        if !self.first.is_over() {
            read.map_err(|error| self.first.fail(error))?;
            let mut heard = self.first.heard();
            let room = LONGEST - heard.len();
            heard.extend(buffer.filled()[before..].iter().take(room));
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Recorded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match ready!(Pin::new(&mut self.stream).poll_write(cx, bytes)) {
            // The reader gets this error after it has read the rest.
            Err(error) if is_closed(&error) && !self.first.is_over() => {
                Poll::Ready(Ok(bytes.len()))
            }
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_flush(cx)) {
            Err(error) if is_closed(&error) && !self.first.is_over() => Poll::Ready(Ok(())),
            flushed => Poll::Ready(flushed),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, BufWriter},
        time::timeout,
    };

    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    fn broken() -> RedisError {
        io::Error::from(io::ErrorKind::BrokenPipe).into()
    }

    #[tokio::test]
    async fn a_refusal_is_read_even_if_nothing_can_be_written() {
        let (near, mut far) = tokio::io::duplex(64);
        let first = Arc::new(FirstBytes::default());
        let mut near = Recorded::new(near, Arc::clone(&first));
        far.write_all(b"-ERR max number of clients reached\r\n")
            .await
            .unwrap();
        drop(far);
        near.write_all(b"HELLO 3\r\n")
            .await
            .expect("its end is read, not met in writing");
        near.read_to_end(&mut Vec::new()).await.unwrap();
        let reason = first.reason(broken());
        assert_eq!(reason.detail(), Some("max number of clients reached"));
        first.end();
        near.write_all(b"PING\r\n")
            .await
            .expect_err("it is an ordinary stream now");
    }

    #[tokio::test]
    async fn of_a_server_that_says_much_the_beginning_is_kept() {
        let first = Arc::new(FirstBytes::default());
        let said: Vec<u8> = (0..4 * LONGEST).map(|place| (place / 64) as u8).collect();
        let mut near = Recorded::new(&said[..], Arc::clone(&first));
        let mut read = [0; 1000];
        while near.read(&mut read).await.unwrap() > 0 {}
        assert_eq!(*first.heard(), said[..LONGEST]);
    }

    #[test]
    fn nothing_said_leaves_the_error_as_it_was() {
        let first = FirstBytes::default();
        assert_eq!(first.reason(broken()).to_string(), "broken pipe");
        *first.heard() = b"+half an ans".to_vec();
        assert_eq!(first.reason(broken()).to_string(), "broken pipe");
    }

    #[test]
    fn a_tls_port_is_recognised_by_its_alert_or_its_silence() {
        let first = FirstBytes::plain();
        let mute = first.reason(broken()).to_string();
        assert!(mute.contains("rediss://"), "{mute}");
        first.fail(io::ErrorKind::ConnectionReset.into());
        let reset = first.reason(broken()).to_string();
        assert!(reset.contains("rediss://"), "{reset}");
        first.fail(io::ErrorKind::TimedOut.into());
        let other = first.reason(broken()).to_string();
        assert!(!other.contains("rediss://"), "{other}");
        *first.heard() = b"\x15\x03\x01\x00\x02\x02\x46".to_vec();
        let alerted = first.reason(broken());
        assert_eq!(alerted.kind(), ErrorKind::InvalidClientConfig);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_keeps_what_is_written_is_flushed_and_closed() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut near = Recorded::new(BufWriter::new(near), Arc::default());
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
