use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::Timestamp;

use super::{Reply, Request};

/// Does something else in place of requests, between a client and its server: this is how bugs are
/// planted that no text of a script has.
///
/// ```
/// use queue_sim::wire::{Reply, Request, Rewrite, Steps};
///
/// /// Leases nothing, but says nothing of when something will be ready.
/// #[derive(Debug)]
/// struct WithoutNext;
///
/// #[async_trait::async_trait]
/// impl Rewrite for WithoutNext {
///     async fn rewrite(&self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
///         if request.script != Some("reliable/turn") {
///             return None;
///         }
///         // The lease's time, twice as long.
///         let ttl: u64 = std::str::from_utf8(&request.arguments()[3]).ok()?.parse().ok()?;
///         request.arguments_mut()[3] = (2 * ttl).to_string().into();
///         Some(steps.run(&request).await)
///     }
/// }
/// ```
///
/// # Non-atomic bugs
///
/// Between the [steps](Steps) of one request others have their turn, so a request that is played
/// as several is not atomic: check with a `LLEN`, then push; or run the script twice. Steps that are
/// left are played even if the client has gone; only the end of the server itself stops them.
///
/// # Truth
///
/// A request that is rewritten counts as executed once, when the rewrite says so
/// ([`Steps::executed`]), or else at its end, if it is a call and its reply is neither an error nor
/// nothing.
#[async_trait]
pub trait Rewrite: Debug + Send + Sync + 'static {
    /// Plays this request, which is a script's call or a plain command, and answers the client;
    /// with `None` it is executed as it is. The request's time is the server's by now, its script
    /// is on the server, and the faults of its way there are over.
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply>;
}

/// What a [`Rewrite`] does on the server, step by step.
#[derive(Debug)]
pub struct Steps<'a>(pub(super) &'a dyn Execute);

/// The execution of one request by the server, in steps.
#[async_trait]
pub(super) trait Execute: Debug + Send + Sync {
    /// Executes a request, and then lets others have their turn.
    async fn step(&self, request: &Request) -> Reply;
    /// The same for a command of these words.
    async fn command(&self, words: Vec<Bytes>) -> Reply;
    fn now(&self) -> Timestamp;
    fn executed(&self);
}

impl Steps<'_> {
    /// Executes one request, and then lets others have their turn. A script's call runs the script
    /// that stands in for it, if one does.
    pub async fn run(&self, request: &Request) -> Reply {
        self.0.step(request).await
    }

    /// Executes one command of these words, and then lets others have their turn.
    pub async fn command<W: AsRef<[u8]> + Sync>(&self, words: &[W]) -> Reply {
        let words = words
            .iter()
            .map(|word| Bytes::copy_from_slice(word.as_ref()));
        self.0.command(words.collect()).await
    }

    /// The server's time now.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// The call takes effect at this moment.
    pub fn executed(&self) {
        self.0.executed();
    }
}
