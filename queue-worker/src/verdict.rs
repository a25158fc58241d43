//! Verdicts of handlers on their messages.

use std::{error::Error, fmt::Display, time::Duration};

use queue_core::{Bytes, Json, Result, limits, with_sources};
use serde::Serialize;

/// A handler's verdict on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// [`Jobs::result`](queue_core::Jobs::result) reads them.
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
/// Any `Display` value converts into a failure, with the worker's [`Backoff`](super::Backoff) as its remedy,
/// so that `?` works in a handler whose error is a `Failure`. For that reason `Failure` itself does not
/// implement `Display`. Such a failure has the value's text as its reason; [`from_error`] adds the texts of
/// an error's sources.
///
/// [`from_error`]: Self::from_error
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    reason: String,
    remedy: Remedy,
}

/// The remedy of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub fn new(reason: impl Display) -> Self {
        Self::with(reason, Remedy::Backoff)
    }

    /// Try again after the worker's back-off. The reason is the error's text, and the texts of its sources
    /// that it does not contain.
    ///
    /// ```
    /// use queue_worker::Failure;
    ///
    /// #[derive(Debug)]
    /// struct Charging(std::io::Error);
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
    /// fn charge() -> Result<(), Charging> {
    ///     Err(Charging(std::io::Error::other("connection refused")))
    /// }
    ///
    /// let failure = charge().map_err(Failure::from_error).unwrap_err();
    /// assert_eq!(failure.reason(), "cannot charge the card: connection refused");
    /// ```
    pub fn from_error(error: impl Error) -> Self {
        Self::new(with_sources(&error))
    }

    /// Try again at once, behind the messages that are ready now. The attempt counts.
    pub fn retry_now(reason: impl Display) -> Self {
        Self::retry_after(reason, Duration::ZERO)
    }

    /// Try again after this delay. The attempt counts.
    pub fn retry_after(reason: impl Display, delay: Duration) -> Self {
        Self::with(reason, Remedy::Retry { delay })
    }

    /// Try again after this delay; the attempt is refunded, because a resource was busy. A message that is
    /// always deferred never dies.
    pub fn defer(reason: impl Display, delay: Duration) -> Self {
        Self::with(reason, Remedy::Defer { delay })
    }

    /// Move to the dead letters now; no further attempt would help.
    pub fn bury(reason: impl Display) -> Self {
        Self::with(reason, Remedy::Bury)
    }

    fn with(reason: impl Display, remedy: Remedy) -> Self {
        Self {
            // In the alternate form, errors that keep their causes show them.
            reason: format!("{reason:#}"),
            remedy,
        }
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The remedy.
    pub const fn remedy(&self) -> Remedy {
        self.remedy
    }
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// The return types of handlers: nothing, an [`Output`], a [`Verdict`], or a `Result` whose error is a [`Failure`]
/// or any `Display` value.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    note = "a handler returns `()`, an `Output`, a `Verdict`, or a `Result` of one of them whose error is a `Failure` \
            or any value that implements `Display`"
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
