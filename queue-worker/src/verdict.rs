//! Verdicts of handlers on their messages.

use std::{error::Error, sync::Arc, time::Duration};

use queue_core::{Bytes, Json, Result, limits, with_sources};
use serde::Serialize;

/// A handler's verdict on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Done: ack the message.
    Done,
    /// Done, with a result. The worker keeps it if it was told to by
    /// [`keep_results`](crate::Worker::keep_results).
    DoneWith(OutputBytes),
    /// Failed: the failure says what to do.
    Failed(Failure),
}

impl Verdict {
    /// Whether the message is done, with or without a result.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::DoneWith(_))
    }
}

/// The value that a handler returns, as the result of its message.
///
/// With [`keep_results`](crate::Worker::keep_results), the worker stores the value in JSON, in the same step as the ack
/// (S1). Without, it is dropped. A value that JSON cannot write, or of more than
/// [`limits::MAX_RESULT`](queue_core::limits::MAX_RESULT) bytes, buries the message, because a further attempt would
/// end in the same way.
///
/// ```
/// use queue_worker::{Context, Failure, Output};
///
/// async fn export(customer: u64, _cx: Context) -> Result<Output<String>, Failure> {
///     Ok(Output(format!("exports/{customer}.csv")))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output<T>(pub T);

impl<T: Serialize> IntoVerdict for Output<T> {
    fn into_verdict(self) -> Verdict {
        match OutputBytes::of(&self.0) {
            Ok(output) => Verdict::DoneWith(output),
            Err(error) => Verdict::Failed(Failure::bury(with_sources(&error))),
        }
    }
}

/// The bytes of a result in JSON, as the ack stores them (S1): never more than
/// [`limits::MAX_RESULT`](queue_core::limits::MAX_RESULT), because no backend stores more.
///
/// ```
/// use queue_core::{ErrorKind, limits};
/// use queue_worker::{OutputBytes, Verdict};
///
/// let seven = OutputBytes::of(&7)?;
/// assert_eq!(&seven.as_bytes()[..], b"7");
/// assert_eq!(OutputBytes::new("7")?, seven);
/// assert!(Verdict::DoneWith(seven).is_done());
/// let large = OutputBytes::new(vec![b' '; limits::MAX_RESULT + 1]);
/// assert_eq!(large.unwrap_err().kind(), ErrorKind::Invalid);
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutputBytes(Bytes);

impl OutputBytes {
    /// These bytes, which are JSON already. Only their number is checked:
    /// [`Typed::result`](queue_core::Typed::result) reads them.
    ///
    /// # Errors
    ///
    /// `Invalid` if there are more than [`limits::MAX_RESULT`](queue_core::limits::MAX_RESULT).
    pub fn new(json: impl Into<Bytes>) -> Result<Self> {
        let json = json.into();
        limits::check_result(json.len())?;
        Ok(Self(json))
    }

    /// The value in JSON.
    ///
    /// # Errors
    ///
    /// `Codec` if JSON cannot write the value, and the errors of [`new`](Self::new).
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        Self::new(Json::write(value)?)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Why a message failed, and what to do about it.
///
/// Any error and any text converts into a failure, with the worker's [`Backoff`](super::Backoff) as its remedy, so that
/// `?` works in a handler whose error is a `Failure`. For that reason `Failure` itself is no
/// [`Error`](std::error::Error). Its reason is the error's text with the texts of its sources, each once; its
/// [`source`](Self::source) is the error.
///
/// ```
/// use std::time::Duration;
/// use queue_worker::{Failure, Remedy};
///
/// fn parse(text: &str) -> Result<u64, Failure> {
///     if text.is_empty() {
///         return Err(Failure::bury("nothing to parse"));
///     }
///     Ok(text.parse::<u64>()?)
/// }
///
/// assert_eq!(parse("").unwrap_err().remedy(), Remedy::Bury);
/// assert_eq!(parse("x").unwrap_err().remedy(), Remedy::Backoff);
/// let busy = Failure::defer("the printer is busy", Duration::from_secs(5));
/// assert_eq!(busy.reason(), "the printer is busy");
/// ```
#[derive(Debug, Clone)]
pub struct Failure {
    reason: String,
    remedy: Remedy,
    // Shared, because verdicts are cloned.
    source: Arc<dyn Error + Send + Sync>,
}

/// Failures are equal if their reasons and remedies are.
impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (&self.reason, self.remedy) == (&other.reason, other.remedy)
    }
}

impl Eq for Failure {}

/// An error, or a text that becomes one.
type Cause = Box<dyn Error + Send + Sync>;

/// The remedy of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Try again after the worker's back-off; the attempt counts.
    Backoff,
    /// Try again after this delay; the attempt counts. Zero means at once, behind the messages that
    /// are ready.
    Retry {
        /// Cut at [`limits::MAX_DELAY`](queue_core::limits::MAX_DELAY).
        delay: Duration,
    },
    /// A resource was busy: try again after this delay, the attempt refunded.
    Defer {
        /// Cut at [`limits::MAX_DELAY`](queue_core::limits::MAX_DELAY).
        delay: Duration,
    },
    /// Hopeless: move to the dead letters now, for the failure's reason.
    Bury,
}

impl Failure {
    /// Try again after the worker's back-off.
    ///
    /// ```
    /// use std::io;
    /// use queue_worker::Failure;
    ///
    /// #[derive(Debug)]
    /// struct Charging(io::Error);
    ///
    /// impl std::fmt::Display for Charging {
    ///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    ///         f.write_str("cannot charge the card")
    ///     }
    /// }
    ///
    /// impl std::error::Error for Charging {
    ///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
    ///         Some(&self.0)
    ///     }
    /// }
    ///
    /// let failure = Failure::new(Charging(io::Error::other("connection refused")));
    /// assert_eq!(failure.reason(), "cannot charge the card: connection refused");
    /// assert!(failure.source().is::<Charging>());
    /// ```
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::with(reason.into(), Remedy::Backoff)
    }

    /// Try again at once, behind the messages that are ready now. The attempt counts.
    pub fn retry_now(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::retry_after(reason, Duration::ZERO)
    }

    /// Try again after this delay. The attempt counts.
    pub fn retry_after(reason: impl Into<Box<dyn Error + Send + Sync>>, delay: Duration) -> Self {
        Self::with(reason.into(), Remedy::Retry { delay })
    }

    /// Try again after this delay; the attempt is refunded, because a resource was busy. A message that is
    /// always deferred never dies.
    pub fn defer(reason: impl Into<Box<dyn Error + Send + Sync>>, delay: Duration) -> Self {
        Self::with(reason.into(), Remedy::Defer { delay })
    }

    /// Move to the dead letters now; no further attempt would help.
    pub fn bury(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::with(reason.into(), Remedy::Bury)
    }

    fn with(cause: Cause, remedy: Remedy) -> Self {
        Self {
            reason: with_sources(&*cause),
            remedy,
            source: Arc::from(cause),
        }
    }

    /// The reason: the text of the error, and the texts of its sources, each once.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The error of the handler, with its own sources. If the handler gave a text, this is an error with that text.
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }

    /// The remedy.
    pub const fn remedy(&self) -> Remedy {
        self.remedy
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// The return types of handlers: nothing, an [`Output`], a [`Verdict`], or a `Result` whose error is a [`Failure`],
/// any other error, or a text.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    note = "a handler returns `()`, an `Output`, a `Verdict`, or a `Result` of one of them whose error is a `Failure`, \
            any type that implements `std::error::Error`, or a text"
)]
pub trait IntoVerdict {
    /// Converts into a verdict.
    fn into_verdict(self) -> Verdict;
}

impl IntoVerdict for () {
    fn into_verdict(self) -> Verdict {
        Verdict::Done
    }
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Self {
        self
    }
}

impl<T: IntoVerdict, E: Into<Failure>> IntoVerdict for Result<T, E> {
    fn into_verdict(self) -> Verdict {
        match self {
            Ok(value) => value.into_verdict(),
            Err(error) => Verdict::Failed(error.into()),
        }
    }
}
