//! The one error type; its kinds say what the caller should do next.

mod chain;
mod sanitized;

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

pub use self::chain::with_sources;
use self::sanitized::Sanitized;
use super::{QueueName, Receipt, in_millis};

/// The result of every fallible call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, by what the caller should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument breaks a stated limit. Nothing was sent or changed; correct the call.
    Invalid,
    /// The queue exists with another configuration. The message names both values.
    ConfigMismatch,
    /// The setup does not work: a feature was not compiled in, or the server is a replica, evicts keys, is
    /// too old, or holds another type at a key. An operator has to act. A server that worked before may
    /// recover from such a state, so then the kind is `Unavailable`.
    Configuration,
    /// A bounded queue has no room. Wait for room, drop, or slow down.
    Full,
    /// Messages of the queue are leased, so it is not removed. Try again when their holders are
    /// done, or say that they go too ([`Removal::EvenIfLeased`](crate::Removal::EvenIfLeased)).
    InUse,
    /// The receipt is not the message's live lease (L4). The message is done, or somebody else
    /// has it or will have it: give up the work on it.
    LeaseLost,
    /// The token is not the once key's live claim (O3): the claim has ended, and somebody else may
    /// have done the work or be at it. Stop if you can.
    ClaimLost,
    /// A body could not be encoded or decoded.
    Codec,
    /// The server cannot be reached or does not reply, is loading, or is busy.
    Unavailable,
    /// The server has no memory left for a write. Consumers can still lease and settle its
    /// messages.
    OutOfMemory,
    /// The library or the stored data is at fault; please report it.
    Internal,
}

/// Whether a failed call took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Certainly not: nothing changed, and the caller can repeat the call.
    NotApplied,
    /// Perhaps: the call was sent and its reply never came. The caller can repeat a settlement (the
    /// worst answer is `LeaseLost`), and a push that has a dedup key (L8, L9).
    Unknown,
}

/// The default pause before a caller repeats a call after a transient error: short beside an
/// outage, and long enough that a loop does not spin.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The error of a failed call.
///
/// Its text is one line; the middle of a long text is left out. `Debug` shows the text, the texts of its
/// sources, the kind and the outcome: so a `main` that returns the error prints a sentence.
///
/// A cause is either in the text or in [`source`](std::error::Error::source), and never in both. The words of a server
/// or a parser are in the text. An error that has a type of its own, such as another `Error` or an `io::Error`, is the
/// source. [`with_sources`] makes one text of both; a program that prints only the text leaves the sources out.
///
/// [`kind`](Self::kind) says what to do. [`outcome`](Self::outcome) says whether the call took effect.
/// [`is_transient`](Self::is_transient) says whether the same call may succeed later, and
/// [`retry_after`](Self::retry_after) how long a loop has to pause before it repeats the call.
///
/// ```
/// use queue_core::{ErrorKind, Outcome, QueueName};
///
/// let error = QueueName::new("two words").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert_eq!(error.outcome(), Outcome::NotApplied);
/// assert!(!error.is_transient());
/// assert!(error.to_string().contains("two words"));
/// ```
///
/// # Trying again
///
/// Many transient errors come fast: a server that is busy, is loading or has no memory replies at once, and a
/// loop without a pause would spin. So pause for [`retry_after`](Self::retry_after) at least, and longer
/// after each failure. Stop at a permanent error. If the [`outcome`](Self::outcome) is unknown, the call may
/// have taken effect: repeat a push only with a dedup key.
///
/// The worker and the waiting calls of the `…Ext` traits do so automatically.
///
/// ```
/// use std::{cell::Cell, time::Duration};
/// use queue_core::{Error, ErrorKind, Result};
///
/// /// Pauses double, up to this.
/// const LONGEST: Duration = Duration::from_secs(5);
///
/// async fn persist<T>(mut call: impl AsyncFnMut() -> Result<T>) -> Result<T> {
///     let mut pause = Duration::ZERO;
///     loop {
///         let error = match call().await {
///             Ok(answer) => return Ok(answer),
///             Err(error) => error,
///         };
///         // Permanent: trying again would be in vain.
///         let Some(least) = error.retry_after() else {
///             return Err(error);
///         };
///         pause = (2 * pause).min(LONGEST).max(least);
///         tokio::time::sleep(pause).await;
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let calls = Cell::new(0);
/// let busy_twice = async || {
///     calls.set(calls.get() + 1);
///     match calls.get() {
///         1 | 2 => Err(Error::new(ErrorKind::Unavailable, "busy")),
///         n => Ok(n),
///     }
/// };
/// let start = tokio::time::Instant::now();
/// assert_eq!(persist(busy_twice).await.unwrap(), 3);
/// assert!(start.elapsed() >= Duration::from_millis(100 + 200));
///
/// let hopeless = async || Err::<(), _>(Error::invalid("a body too large"));
/// assert!(persist(hopeless).await.is_err());
/// # }
/// ```
// Boxed, so that the `Ok` side of every result stays small.
#[derive(Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    kind: ErrorKind,
    outcome: Outcome,
    transient: bool,
    retry_after: Duration,
    message: Cow<'static, str>,
    queue: Option<QueueName>,
    once: Option<QueueName>,
    server: Option<Arc<str>>,
    // Shared, so that one failure can be the source of several errors.
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind that changed nothing. `Full`, `InUse`, `Unavailable` and `OutOfMemory`
    /// count as transient, unless [`with_transient`](Self::with_transient) says otherwise.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        let transient = matches!(
            kind,
            ErrorKind::Full | ErrorKind::InUse | ErrorKind::Unavailable | ErrorKind::OutOfMemory
        );
        Self(Box::new(ErrorInner {
            kind,
            outcome: Outcome::NotApplied,
            transient,
            retry_after: RETRY_AFTER,
            message: message.into(),
            queue: None,
            once: None,
            server: None,
            source: None,
        }))
    }

    /// The error for an argument that breaks a limit. The message names the value and the way out.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The error for a token that is not the key's live claim (O3).
    pub fn claim_lost() -> Self {
        Self::new(
            ErrorKind::ClaimLost,
            "the token is not the key's live claim: that has ended, or was finished or released",
        )
    }

    /// The error for a receipt that is not the message's live lease (L4).
    pub fn lease_lost(receipt: Receipt) -> Self {
        Self::new(
            ErrorKind::LeaseLost,
            format!(
                "the lease on message {} is not held with token {}: it expired, was settled before, or is \
                 somebody else's now; stop the work on it, and take a longer lease or extend it in time",
                receipt.id, receipt.token
            ),
        )
    }

    /// The error for a backend that returned fewer answers than the batch had entries: a bug of that backend.
    pub fn unanswered() -> Self {
        let message = "the backend returned fewer answers than the batch has entries";
        Self::new(ErrorKind::Internal, message).with_outcome(Outcome::Unknown)
    }

    /// Names the queue that the call was for.
    #[must_use]
    pub fn with_queue(mut self, queue: &QueueName) -> Self {
        self.0.queue = Some(queue.clone());
        self
    }

    /// Names the queue that the call was for. A partition that the error named before is moved into the
    /// message.
    #[must_use]
    pub(crate) fn of_partition(mut self, queue: &QueueName) -> Self {
        if let Some(partition) = self.0.queue.replace(queue.clone())
            && partition != *queue
        {
            self.0.message = format!("partition {partition}: {}", self.0.message).into();
        }
        self
    }

    /// Names the store of once keys that the call was for.
    #[must_use]
    pub fn with_once(mut self, store: &QueueName) -> Self {
        self.0.once = Some(store.clone());
        self
    }

    /// Names the server that was the cause, to distinguish the failures of one outage from those of another.
    /// The text does not show it; keep passwords out.
    #[must_use]
    pub fn with_server(mut self, server: &str) -> Self {
        self.0.server = Some(server.into());
        self
    }

    /// Keeps the error's cause. The message then says only what is known beside it: programs that print the whole chain
    /// would print a repeated cause twice.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Says whether the call took effect.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// Says whether the same call may succeed later.
    #[must_use]
    pub fn with_transient(mut self, transient: bool) -> Self {
        self.0.transient = transient;
        self
    }

    /// Sets the least pause before the same call is repeated: longer if the failure is known to last, shorter
    /// if it is soon over. 100 ms by default. It matters only while the error is transient.
    #[must_use]
    pub fn with_retry_after(mut self, pause: Duration) -> Self {
        self.0.retry_after = pause;
        self
    }

    /// The error's kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the call took effect. [`Outcome::NotApplied`] is claimed only when it is certain.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Whether the same call may succeed later with nothing else changed.
    pub fn is_transient(&self) -> bool {
        self.0.transient
    }

    /// The least pause before the same call is repeated: `Some` exactly if the error
    /// [`is_transient`](Self::is_transient). `None` means that trying again is in vain.
    ///
    /// See [Trying again](Self#trying-again) for a loop that obeys it.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.transient.then_some(self.0.retry_after)
    }

    /// The server that was the cause, where one is known.
    pub fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }

    /// The queue that the call was for, where one is known.
    pub fn queue(&self) -> Option<&QueueName> {
        self.0.queue.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(queue) = &self.0.queue {
            write!(f, "queue {queue}: ")?;
        }
        if let Some(store) = &self.0.once {
            write!(f, "once store {store}: ")?;
        }
        Sanitized(&self.0.message).fmt(f)?;
        if self.0.outcome == Outcome::Unknown {
            f.write_str(" (it is unknown whether the call took effect)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    /// The text, the texts of its sources, the kind and the outcome in one line. A program whose `main`
    /// returns the error prints this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = with_sources(self);
        let (kind, outcome) = (self.0.kind, self.0.outcome);
        write!(f, "{} [{kind:?}, {outcome:?}", Sanitized(&text))?;
        match self.retry_after() {
            Some(pause) => write!(f, ", try again after {}]", in_millis(pause)),
            None => f.write_str("]"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
