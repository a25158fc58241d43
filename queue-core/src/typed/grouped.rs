use super::{Grouped, MessageBuilder, Takes, accepted, message::MayDelay};
use crate::{Bytes, Encode, GroupedQueue, LeasingExt, MessageId, Push, Result};

impl<T, C: Send + Sync + ?Sized> Grouped<T, C> {
    /// Puts a value at the tail of the group of this key.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of [`encode`](Self::encode).
    pub async fn push<V: Sync + ?Sized>(
        &self,
        value: &V,
        key: impl AsRef<[u8]> + Send,
    ) -> Result<MessageId>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = self.encode(value)?.with_group(bytes(key));
        accepted(self.queue.push_one(push).await?)
    }

    /// A message with this value for the group of this key, to which headers, a dedup key, a due time and other options
    /// can be added before it is sent.
    ///
    /// ```
    /// # async fn example(orders: queue_core::Grouped<u64>) -> queue_core::Result<()> {
    /// let hour = std::time::Duration::from_secs(60 * 60);
    /// orders.message(&42, "customer-7").dedup("order-42", hour).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn message<V: ?Sized>(
        &self,
        value: &V,
        key: impl AsRef<[u8]>,
    ) -> MessageBuilder<'_, dyn GroupedQueue>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value).set(|push| push.with_group(bytes(key)))
    }

    /// Puts any number of values in, each with the key of its group, split as [`push_all`](LeasingExt::push_all) splits
    /// them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<V: Sync, K: AsRef<[u8]> + Sync>(
        &self,
        values: &[(V, K)],
    ) -> Result<Vec<MessageId>>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = |(value, key): &(V, K)| Ok(self.encode(value)?.with_group(bytes(key)));
        let pushes: Result<Vec<Push>> = values.iter().map(push).collect();
        self.push_encoded(&pushes?).await
    }
}

fn bytes(key: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(key.as_ref())
}

impl MayDelay for dyn GroupedQueue {}

super::consumer::upcast!(GroupedQueue);
