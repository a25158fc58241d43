use super::Reliable;
use crate::{Dedup, MessageId, Push, Pushed, ReliableQueueExt, Result};

impl<T: Sync + 'static> Reliable<T> {
    /// Puts a value at the tail.
    ///
    /// # Errors
    ///
    /// Those of [`ReliableQueue::push`](crate::ReliableQueue::push), and `Codec`.
    pub async fn push(&self, value: &T) -> Result<MessageId> {
        Ok(self.queue.push_one(self.encode(value)?).await?.id())
    }

    /// Puts a value at the tail unless this dedup key was pushed within the window (L9): safe to
    /// repeat after an error of unknown outcome.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_once(&self, value: &T, dedup: Dedup) -> Result<Pushed> {
        let mut push = Push::new(self.encode(value)?);
        push.dedup = Some(dedup);
        self.queue.push_one(push).await
    }

    /// Puts any number of values at the tail, split as
    /// [`push_all`](ReliableQueueExt::push_all) splits them.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_all(&self, values: &[T]) -> Result<Vec<MessageId>> {
        let bodies = self.encode_all(values)?;
        let pushes: Vec<Push> = bodies.into_iter().map(Push::new).collect();
        let pushed = self.queue.push_all(&pushes).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }
}

super::consumer::upcast!(ReliableQueue => Reliable);
