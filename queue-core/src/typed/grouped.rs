use serde::{Serialize, de::DeserializeOwned};

use super::{Grouped, MessageBuilder, Queues, message::MayDelay, queues::open};
use crate::{
    Bytes, GroupedConfig, GroupedQueue, GroupedQueueExt, Keyed, MessageId, Pushed, Result,
};

impl Queues {
    open! { grouped, grouped_with, GroupedConfig, open_grouped, Grouped }
    open! { grouped_or_reconfigure, GroupedConfig, Grouped }
}

impl<T: Sync + 'static> Grouped<T> {
    /// Puts a value at the tail of the group of this key.
    ///
    /// # Errors
    ///
    /// The errors of [`GroupedQueue::push_keyed`], and `Codec`.
    pub async fn push(&self, value: &T, key: impl AsRef<[u8]>) -> Result<MessageId> {
        let key = Bytes::copy_from_slice(key.as_ref());
        let pushed = self.queue.push_keyed_one(self.encode(value)?, key).await?;
        Ok(pushed.id())
    }

    /// A message with this value for the group of this key, to which headers, a dedup key and a due time can be added
    /// before it is sent.
    ///
    /// ```
    /// # async fn example(orders: queue_core::Grouped<u64>) -> queue_core::Result<()> {
    /// let hour = std::time::Duration::from_secs(60 * 60);
    /// orders.message(&42, "customer-7").dedup("order-42", hour).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn message(
        &self,
        value: &T,
        key: impl AsRef<[u8]>,
    ) -> MessageBuilder<'_, dyn GroupedQueue, Bytes> {
        self.compose(value, Bytes::copy_from_slice(key.as_ref()))
    }

    /// Puts any number of values in, each with the key of its group, split as
    /// [`push_keyed_all`](GroupedQueueExt::push_keyed_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<K: AsRef<[u8]> + Sync>(
        &self,
        values: &[(T, K)],
    ) -> Result<Vec<MessageId>> {
        let keyed = |(value, key): &(T, K)| {
            let key = Bytes::copy_from_slice(key.as_ref());
            Ok(Keyed::new(self.encode(value)?, key))
        };
        let keyed: Vec<_> = values.iter().map(keyed).collect::<Result<_>>()?;
        let pushed = self.queue.push_keyed_all(&keyed).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }
}

impl MessageBuilder<'_, dyn GroupedQueue, Bytes> {
    /// Puts the message at the tail of its group.
    ///
    /// # Errors
    ///
    /// The errors of [`GroupedQueue::push_keyed`], and `Codec`.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.push_keyed_one(self.push?, self.terms).await
    }
}

impl MayDelay for dyn GroupedQueue {}

super::consumer::upcast!(GroupedQueue => Grouped);
