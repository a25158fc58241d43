//! A queue of any kind as a service, and a service as a queue of any kind.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Answer, Call, Front, Service, verbs};
use crate::{
    AnyQueue, Confirmer, Error, Inserted, Offered, Push, Pushed, QueueKind, Result,
    queue::{chunks, half_way},
};

macro_rules! any {
    ($($kind:ident by $verbs:ident;)*) => {
        impl AnyQueue {
            /// A queue of this kind that hands its calls to a service.
            pub fn behind(service: Arc<dyn Service>, kind: QueueKind) -> Self {
                let front = Arc::new(Front::of(service));
                match kind {
                    $(QueueKind::$kind => Self::$kind(front),)*
                }
            }
        }

        #[async_trait]
        impl Service for AnyQueue {
            async fn call(&self, call: Call) -> Result<Answer> {
                match self {
                    $(Self::$kind(queue) => verbs::$verbs(&**queue, call).await,)*
                }
            }

            fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
                match self {
                    $(Self::$kind(queue) => queue.confirmer(),)*
                }
            }
        }
    };
}

any! {
    Reliable by reliable;
    Delay by delay;
    Priority by priority;
    Grouped by grouped;
    Bounded by bounded;
    Rotating by rotating;
}

impl AnyQueue {
    /// Puts plain messages into the queue, by the kind's own [`Call::put`].
    ///
    /// Returns one answer for each message, as the kind's own call does: `Full` without room, `Duplicate` for
    /// a key that is in the ring already.
    ///
    /// # Errors
    ///
    /// The errors of that call. A dropped future has that call's effect, too.
    pub async fn put(&self, messages: &[Push]) -> Result<Vec<Offered>> {
        let call = Call::put(self.kind(), messages.to_vec());
        let accepted = |id| Offered::Accepted { id, evicted: None };
        Ok(match self.call(call).await? {
            Answer::Offered(offered) => offered,
            Answer::Pushed(pushed) => {
                let put = pushed.into_iter().map(|pushed| match pushed {
                    Pushed::Accepted(id) => accepted(id),
                    Pushed::Duplicate(id) => Offered::Duplicate(id),
                });
                put.collect()
            }
            Answer::Inserted(inserted) => {
                let put = inserted.into_iter().map(|inserted| match inserted {
                    Inserted::Added(id) => accepted(id),
                    Inserted::Present(id) => Offered::Duplicate(id),
                });
                put.collect()
            }
            _ => return Err(Error::unanswered()),
        })
    }

    /// [`put`](Self::put)s any number of messages in, split into batches of at most 128 and 8 MiB;
    /// the splits are neither atomic nor contiguous.
    ///
    /// # Errors
    ///
    /// The errors of [`put`](Self::put). After the first batch, an error's outcome is unknown.
    pub async fn put_all(&self, messages: &[Push]) -> Result<Vec<Offered>> {
        let mut put = Vec::with_capacity(messages.len());
        for chunk in chunks(messages, Push::size) {
            let answered = self.put(chunk).await;
            let answered = answered.map_err(|error| half_way(error, !put.is_empty()));
            put.append(&mut answered?);
        }
        Ok(put)
    }
}
