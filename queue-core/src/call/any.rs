//! A queue of any kind as a service, and a service as a queue of any kind.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Answer, Call, Front, Service, verbs};
use crate::{
    AnyQueue, Confirmer, Error, Inserted, Push, Pushed, QueueKind, Result,
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
    /// Puts messages into the queue, by [`push`](crate::Leasing::push). A ring gets their bodies and headers as items.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](crate::Leasing::push), and of [`insert`](crate::RotatingQueue::insert) for a ring. A
    /// dropped future has that call's effect, too.
    pub async fn put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let call = Call::put(self.kind(), messages.to_vec());
        Ok(match self.call(call).await? {
            Answer::Pushed(pushed) => pushed,
            Answer::Inserted(inserted) => {
                let put = inserted.into_iter().map(|inserted| match inserted {
                    Inserted::Added(id) => Pushed::Accepted(id),
                    Inserted::Present(id) => Pushed::Duplicate(id),
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
    pub async fn put_all(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let mut put = Vec::with_capacity(messages.len());
        for chunk in chunks(messages, Push::size) {
            let answered = self.put(chunk).await;
            let answered = answered.map_err(|error| half_way(error, !put.is_empty()));
            put.append(&mut answered?);
        }
        Ok(put)
    }
}
