//! Confirmed calls: how many copies of its changes a call waits for, and whether they were made in time.

use std::{
    fmt::{self, Debug},
    future::Future,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;

use crate::{Error, ErrorKind, Result, limits};

/// How many copies of its changes a call waits for after the server has stored them, and for how long
/// (R2).
///
/// ```
/// use std::time::Duration;
/// use queue_core::Confirmation;
///
/// // A replica has received it, or half a second is over.
/// let received = Confirmation::replicas(1).within(Duration::from_millis(500));
/// // It is on the server's disk; on a replica's as well.
/// let on_disk = Confirmation::flushed();
/// let on_two_disks = Confirmation::replicas(1).and_flushed();
/// # assert!(received.check().is_ok() && on_disk.check().is_ok() && on_two_disks.check().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Confirmation {
    /// How many replicas must have the changes.
    pub replicas: u16,
    /// Whether a copy counts only once it is in a file on disk, and the server's own must be, too.
    pub flushed: bool,
    /// How long to wait for them: 1 ms to a minute. A backend cannot distinguish a waiting server from a
    /// silent one. So while a wait is under way, calls of this handle notice a silent server later by this
    /// time.
    pub within: Duration,
}

/// The wait by default.
const WITHIN: Duration = Duration::from_secs(1);

impl Confirmation {
    /// `replicas` replicas have received the changes, within a second unless [`within`](Self::within) sets
    /// another time.
    pub const fn replicas(replicas: u16) -> Self {
        Self {
            replicas,
            flushed: false,
            within: WITHIN,
        }
    }

    /// The server that took the changes has them in a file on its disk, within a second unless
    /// [`within`](Self::within) sets another time.
    pub const fn flushed() -> Self {
        Self::replicas(0).and_flushed()
    }

    /// Counts a copy only once it is in a file on disk: the copy of the server that took the changes, and the
    /// copy of each replica.
    #[must_use]
    pub const fn and_flushed(self) -> Self {
        Self {
            flushed: true,
            ..self
        }
    }

    /// Waits no longer than `within`.
    #[must_use]
    pub const fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// Checks the limits, as every backend does first.
    ///
    /// # Errors
    ///
    /// `Invalid` if it asks for no copy, or for a time that is not 1 ms to a minute.
    pub fn check(&self) -> Result<()> {
        if self.replicas == 0 && !self.flushed {
            return Err(Error::invalid(
                "a confirmation by 0 replicas confirms nothing: ask for at least one, or for a copy on \
                 disk",
            ));
        }
        limits::within_millis(self.within).map(drop)
    }
}

impl fmt::Display for Confirmation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (replicas, within) = (
            Replicas(self.replicas.into()),
            crate::in_millis(self.within),
        );
        match (self.replicas, self.flushed) {
            (0, _) => write!(f, "on disk within {within}"),
            (_, false) => write!(f, "at {replicas} within {within}"),
            (_, true) => write!(f, "on disk, also at {replicas}, within {within}"),
        }
    }
}

/// The copies that were made of a call's changes. In each case the call has taken effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Copies {
    /// As many as the call asked for, in time: it is confirmed.
    Enough,
    /// Fewer in time: the change is stored and unconfirmed. More copies may follow.
    Fewer {
        /// How many replicas had it.
        replicas: u64,
        /// Whether it was in a file on the server's disk, if the call asked for that.
        flushed: bool,
    },
    /// The number is unknown, for this reason; the connection ended, say. The change is stored and
    /// unconfirmed.
    Unknown(String),
}

impl fmt::Display for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enough => f.write_str("confirmed"),
            Self::Fewer { replicas, flushed } => {
                let disk = if *flushed { "on disk and " } else { "" };
                let replicas = Replicas(*replicas);
                write!(f, "stored, unconfirmed: in time it was {disk}at {replicas}")
            }
            Self::Unknown(reason) => write!(f, "stored, unconfirmed: {reason}"),
        }
    }
}

struct Replicas(u64);

impl fmt::Display for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} replica{plural}", self.0)
    }
}

/// The answer of a call, and the copies of its changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use = "it may be unconfirmed"]
#[non_exhaustive]
pub struct Confirmed<A> {
    /// The call's answer. The call has taken effect, confirmed or not.
    pub answer: A,
    /// The copies of its changes.
    pub copies: Copies,
}

impl<A> Confirmed<A> {
    /// Whether there were as many copies in time as the program asked for.
    pub fn is_confirmed(&self) -> bool {
        self.copies == Copies::Enough
    }
}

/// Confirms the calls of one handle to a queue, for a backend that keeps copies. Callers use
/// [`confirmed`](crate::LeasingExt::confirmed).
#[async_trait]
pub trait Confirmer: Debug + Send + Sync + 'static {
    /// Awaits `call`, which makes calls of this handle, and then waits for the copies of all their changes.
    /// It claims [`Enough`](Copies::Enough) only for changes of this handle's calls.
    ///
    /// # Errors
    ///
    /// The error of `call`, unchanged; and the backend's if it could not begin `call`. Once `call` has
    /// succeeded, nothing is an error.
    async fn confirm<'a>(
        &'a self,
        call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies>;
}

/// Makes a call through the confirmer of its handle, if that has one.
pub(crate) async fn confirm<A: Send>(
    confirmer: Option<Arc<dyn Confirmer>>,
    call: impl Future<Output = Result<A>> + Send,
) -> Result<Confirmed<A>> {
    let Some(confirmer) = confirmer else {
        return Err(Error::new(
            ErrorKind::Configuration,
            "this handle confirms nothing: open the queue on the backend that Backend::confirmed \
             returns, or on Queues::confirmed",
        ));
    };
    let mut answer = None;
    let answered = async {
        answer = Some(call.await?);
        Ok(())
    };
    let copies = confirmer.confirm(Box::pin(answered)).await?;
    // A confirmer that never made the call has no answer.
    let answer = answer.ok_or_else(Error::unanswered)?;
    Ok(Confirmed { answer, copies })
}
