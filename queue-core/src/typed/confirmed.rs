//! Confirmed calls of typed handles.

use std::future::Future;

use super::{Rotating, Typed};
use crate::{Confirmed, Leasing, Result, queue::confirm};

macro_rules! confirmed {
    () => {
        /// Makes calls of this handle, and waits until what they changed has as many copies as the
        /// [`Confirmation`](crate::Confirmation) asks for that the queue was opened with, by
        /// [`Queues::confirmed`](crate::Queues::confirmed) (R2). Too few in time is no error: the answer
        /// says so, beside what the calls answered.
        ///
        /// ```
        /// # async fn example(charges: queue_core::Reliable<u64>) -> queue_core::Result<()> {
        /// let pushed = charges.confirmed(|charges| charges.push(&42)).await?;
        /// if !pushed.is_confirmed() {
        ///     eprintln!("message {}: {}", pushed.answer, pushed.copies);
        /// }
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// [`LeasingExt::confirmed`](crate::LeasingExt::confirmed) tells the rest.
        ///
        /// # Errors
        ///
        /// Those of the calls. `Configuration` if the handle confirms nothing, before anything is done.
        pub async fn confirmed<'a, A, F>(
            &'a self,
            calls: impl FnOnce(&'a Self) -> F + Send,
        ) -> Result<Confirmed<A>>
        where
            A: Send,
            F: Future<Output = Result<A>> + Send + 'a,
        {
            confirm(self.queue.confirmer(), calls(self)).await
        }
    };
}

impl<T: 'static, Q: Leasing + ?Sized> Typed<T, Q> {
    confirmed!();
}

impl<T: 'static> Rotating<T> {
    confirmed!();
}
