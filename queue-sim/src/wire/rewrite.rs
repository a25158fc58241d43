use std::fmt::Debug;

use async_trait::async_trait;

use super::{Reply, Request, Steps};

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
/// Other lanes may go first between the [steps](Steps) of one request, so a request played in
/// several steps is not atomic. For example, it checks with a `LLEN` and then pushes, or runs the
/// script twice. The remaining steps run even if the client has gone; only the server's end stops
/// them.
///
/// # Truth
///
/// A rewritten request counts as executed once: when the rewrite says so ([`Steps::executed`]), or
/// else at its end, if it belongs to a call and its reply is neither an error nor nothing, and does
/// not ask for more keys.
#[async_trait]
pub trait Rewrite: Debug + Send + Sync + 'static {
    /// Plays this request, a script's call or a plain command, and answers the client's reply. With
    /// `None`, the server executes the request as it is. The request's time is already the
    /// server's, its script is on the server, and the faults of its way there are over.
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply>;
}
