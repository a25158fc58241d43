//! Confirms what the calls of a connection have changed: one wait serves all that were answered before it.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Copies, Error, Result, Spawn};
use tokio::time::Instant;

use crate::{
    client::Client,
    coalescer::{Coalescer, Verb},
    connection::{Channel, CopiesAsked},
};

/// The waits of one connection. Callers that come while a wait is under way go together in the next.
pub(crate) type Waits = Coalescer<Waiting>;

/// Sends waits, and remembers the last.
#[derive(Debug)]
pub(crate) struct Waiting {
    asked: CopiesAsked,
    last: Mutex<Option<Waited>>,
}

/// A wait that is over.
#[derive(Debug)]
struct Waited {
    channel: Arc<Channel>,
    /// How many requests of its connection had been answered when it was sent.
    answered: u64,
    copies: Copies,
}

/// A caller's place in the history of a connection: all of its calls were answered by then.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    channel: Arc<Channel>,
    answered: u64,
    /// A key of its queue, for a write.
    key: Arc<str>,
}

impl Waiting {
    /// `patience` is how long a caller waits until its wait is sent.
    pub(crate) fn waits(asked: CopiesAsked, patience: Duration, spawn: Arc<dyn Spawn>) -> Waits {
        let last = Mutex::default();
        Coalescer::new(Self { asked, last }, patience, spawn)
    }

    /// What the last wait found, if it was sent after this moment.
    fn known(&self, moment: &Moment) -> Option<Copies> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref()?;
        let is_covered =
            Arc::ptr_eq(&last.channel, &moment.channel) && moment.answered <= last.answered;
        is_covered.then(|| last.copies.clone())
    }

    async fn wait(&self, moment: &Moment) -> Copies {
        let channel = Arc::clone(&moment.channel);
        // Read before the wait is sent. The server does a connection's requests in order, so whatever has
        // an answer by now was done before.
        let answered = channel.answered();
        let copies = self.asked.wait(&channel, &moment.key).await;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Waited {
            channel,
            answered,
            copies: copies.clone(),
        });
        copies
    }
}

#[async_trait]
impl Verb for Waiting {
    type Entry = Moment;
    type Answer = Copies;

    async fn send(&self, moments: &[Moment]) -> Result<Vec<Copies>> {
        let mut all = Vec::with_capacity(moments.len());
        for moment in moments {
            all.push(match self.known(moment) {
                Some(copies) => copies,
                None => self.wait(moment).await,
            });
        }
        Ok(all)
    }

    fn size(_moment: &Moment) -> usize {
        1
    }

    /// A wait goes over the connection of its calls, or not at all: it waits for no other.
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn unsent(&self) -> Error {
        Error::invalid("the waits before took too long")
    }
}

/// Confirms the calls of one handle.
#[derive(Debug)]
pub(crate) struct Confirmer {
    pub(crate) client: Client,
    pub(crate) waits: Arc<Waits>,
    /// A key of the queue that nothing else uses.
    pub(crate) key: Arc<str>,
}

#[async_trait]
impl queue_core::Confirmer for Confirmer {
    async fn confirm<'a>(
        &'a self,
        call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        let channel = self.client.channel(Instant::now()).await?;
        call.await?;
        // A connection that is over never comes back. So if it is still the one in use, it has been all the
        // time, and the calls went over it.
        if !self.client.is_on(&channel) {
            let reason = "the connection ended before there was a confirmation";
            return Ok(Copies::Unknown(reason.to_owned()));
        }
        let moment = Moment {
            answered: channel.answered(),
            channel,
            key: Arc::clone(&self.key),
        };
        let copies = self.waits.send(&[moment]).await;
        Ok(match copies.map(|mut copies| copies.pop()) {
            Ok(Some(copies)) => copies,
            Ok(None) => Copies::Unknown(Error::unanswered().to_string()),
            Err(error) => Copies::Unknown(error.to_string()),
        })
    }
}
