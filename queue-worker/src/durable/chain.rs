//! Chains: jobs one after another.

use std::pin::Pin;

use queue_core::{Encode, Job, Queues, Result, Takes, Typed};
use serde::{Deserialize, Serialize};

use super::{StepName, batch::spawn, member::Members};
use crate::{Context, Failure};

/// Jobs one after another: each begins once the one before has ended well.
///
/// A chain is one message, as a [`Batch`](super::Batch) is, and [`chains`] handles it. If a job of the chain dies, the
/// chain is buried, and the reason names the job. Once the job is revived and then the chain, the chain goes on where it
/// was.
///
/// ```
/// use queue_core::{Jobs, Queues, Reliable};
/// use queue_worker::{Chain, Router, Worker, chains};
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let films: Reliable<u64> = queues.reliable("films").open().await?;
/// let mails: Reliable<String> = queues.reliable("mails").open().await?;
/// let jobs = queues.reliable("jobs").open::<Jobs>().await?;
///
/// let chain = Chain::new().then(&films, [42_u64])?.then(&mails, ["film 42 is ready".to_owned()])?;
/// jobs.push(&chain).await?;
///
/// Worker::new(jobs).router(Router::new().on(chains(queues))).run().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use = "a chain does nothing until it is pushed"]
pub struct Chain {
    links: Vec<Members>,
}

impl Job for Chain {
    const NAME: &'static str = "qk-chain";
}

impl Chain {
    /// A chain without jobs.
    pub const fn new() -> Self {
        Self { links: Vec::new() }
    }

    /// Adds jobs, for a queue of any kind, which run at the same time once all before have ended well.
    ///
    /// # Errors
    ///
    /// `Invalid` if the handle has no name, as one of [`Queues`] has; the errors of the codec.
    pub fn then<V, T, Q, C>(
        mut self,
        queue: &Typed<T, Q, C>,
        jobs: impl IntoIterator<Item = V>,
    ) -> Result<Self>
    where
        T: Takes<V>,
        Q: ?Sized,
        C: Encode<V> + ?Sized,
    {
        self.links.push(Members::of(queue, jobs)?);
        Ok(self)
    }

    /// Handles the chain, in the place of [`chains`].
    ///
    /// # Errors
    ///
    /// The failure that defers while a job runs; the burial if one is dead; the errors of [`spawn`](Context::spawn) and
    /// [`join`](Context::join).
    pub async fn run(self, cx: &Context, queues: &Queues) -> std::result::Result<(), Failure> {
        for (number, members) in self.links.iter().enumerate() {
            let name = StepName::from(("link", number));
            let children = spawn(cx, queues, &name, members, None).await?;
            let joined = cx.join(&children).await?;
            if let Some(failed) = joined.failed().first() {
                let reason = children.dead_child(failed);
                return Err(Failure::bury(format!(
                    "{reason}; revive it, and then this chain"
                )));
            }
        }
        Ok(())
    }
}

type ChainFuture = Pin<Box<dyn Future<Output = std::result::Result<(), Failure>> + Send>>;

/// The handler of [`Chain`] jobs, for a [`Router`](crate::Router) or a worker. It opens the jobs' queues by these
/// `queues`.
pub fn chains(queues: Queues) -> impl Fn(Chain, Context) -> ChainFuture + Send + Sync + 'static {
    move |chain, cx| {
        let queues = queues.clone();
        Box::pin(async move { chain.run(&cx, &queues).await })
    }
}
