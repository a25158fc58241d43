use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::Timestamp;

use super::{Reply, Request};

/// Plays requests in another way, between a client and its server. It plants bugs that no script's
/// text can have.
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
///         if request.script != Some("reliable/settle_and_lease") {
///             return None;
///         }
///         // The lease's time, twice as long.
///         let lease_time: u64 = std::str::from_utf8(&request.arguments()[3]).ok()?.parse().ok()?;
///         request.arguments_mut()[3] = (2 * lease_time).to_string().into();
///         Some(steps.run(&request).await)
///     }
/// }
/// ```
///
/// # Non-atomic bugs
///
/// Other processes may go first between the [steps](Steps) of one request, so a request played in
/// several steps is not atomic. For example, it checks with a `LLEN` and then pushes, or runs the
/// script twice. The remaining steps run even if the client has gone; only the server's end stops
/// them.
///
/// # Truth
///
/// A rewritten request counts as executed once: when the rewrite says so ([`Steps::executed`]), or else at its end. The
/// end counts only if the request belongs to a call, and if its reply is neither an error nor nothing, and does not ask
/// for more keys.
#[async_trait]
pub trait Rewrite: Debug + Send + Sync + 'static {
    /// Plays this request, a script's call or a plain command, and returns the client's reply. With `None`, the server
    /// executes the request as it is. The request's time is already the server's, its script is on the server, and the
    /// faults of its way there are over.
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply>;
}

/// The steps of a [`Rewrite`] on the server.
#[derive(Debug)]
pub struct Steps<'a>(pub(super) &'a dyn Execute);

/// Executes one request on the server, in steps.
#[async_trait]
pub(super) trait Execute: Debug + Send + Sync {
    /// Executes a request, and then lets other processes go first.
    async fn step(&self, request: &Request) -> Reply;
    /// Executes a command of these words, and then lets other processes go first.
    async fn command(&self, words: Vec<Bytes>) -> Reply;
    fn now(&self) -> Timestamp;
    fn executed(&self);
}

impl Steps<'_> {
    /// Executes one request, and then lets other processes go first. A script's call runs the script's
    /// replacement, if there is one.
    pub async fn run(&self, request: &Request) -> Reply {
        self.0.step(request).await
    }

    /// Executes one command of these words, and then lets other processes go first.
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

    /// Notes that the call takes effect now.
    pub fn executed(&self) {
        self.0.executed();
    }
}
