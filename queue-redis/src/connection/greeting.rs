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

use redis::{RedisError, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// More than the longest of such messages has.
const LONGEST: usize = 4096;

/// The bytes that came over a connection before it was in use.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    is_over: AtomicBool,
    heard: Mutex<Vec<u8>>,
}

impl Greeting {
    /// Ends the greeting: the connection is in use now.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        *self.heard() = Vec::new();
    }

    /// The reason why the server refused the connection: the server's own message, if it sent one,
    /// and not the end of the connection that followed.
    pub(super) fn reason(&self, error: RedisError) -> RedisError {
        match redis::parse_redis_value(&self.heard()) {
            Ok(Value::ServerError(refusal)) => refusal.into(),
            _ => error,
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn heard(&self) -> MutexGuard<'_, Vec<u8>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that records its input until the [`Greeting`] is over.
///
/// A server without room for another client says so and closes at once. A write then fails, and
/// that failure must not keep the backend from reading the message.
#[derive(Debug)]
pub(super) struct Greeted<S> {
    stream: S,
    greeting: Arc<Greeting>,
}

impl<S> Greeted<S> {
    pub(super) const fn new(stream: S, greeting: Arc<Greeting>) -> Self {
        Self { stream, greeting }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Greeted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if !self.greeting.is_over() {
            let mut heard = self.greeting.heard();
            let room = LONGEST - heard.len();
            heard.extend(buffer.filled()[before..].iter().take(room));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Greeted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match ready!(Pin::new(&mut self.stream).poll_write(cx, bytes)) {
            // The reader learns of it, after it has read the rest.
            Err(error) if is_closed(&error) && !self.greeting.is_over() => {
                Poll::Ready(Ok(bytes.len()))
            }
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
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
    async fn what_was_said_is_heard_though_nothing_can_be_written() {
        let (near, mut far) = tokio::io::duplex(64);
        let greeting = Arc::new(Greeting::default());
        let mut near = Greeted::new(near, Arc::clone(&greeting));
        far.write_all(b"-ERR max number of clients reached\r\n")
            .await
            .unwrap();
        drop(far);
        near.write_all(b"HELLO 3\r\n")
            .await
            .expect("its end is read, not met in writing");
        near.read_to_end(&mut Vec::new()).await.unwrap();
        let reason = greeting.reason(broken());
        assert_eq!(reason.detail(), Some("max number of clients reached"));
        greeting.end();
        near.write_all(b"PING\r\n")
            .await
            .expect_err("it is an ordinary stream now");
    }

    #[test]
    fn nothing_said_leaves_the_error_as_it_was() {
        let greeting = Greeting::default();
        assert_eq!(greeting.reason(broken()).to_string(), "broken pipe");
        *greeting.heard() = b"+half an ans".to_vec();
        assert_eq!(greeting.reason(broken()).to_string(), "broken pipe");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_keeps_what_is_written_is_flushed_and_closed() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut near = Greeted::new(BufWriter::new(near), Arc::default());
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
