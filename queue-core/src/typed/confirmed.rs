//! Confirmed calls of typed handles.

use std::future::Future;

use super::{Rotating, Typed};
use crate::{Confirmed, Leasing, Result, queue::confirm};

macro_rules! confirmed {
    () => {
        /// Makes calls of this handle, and waits until their changes have as many copies as the handle's
        /// [`Confirmation`](crate::Confirmation) asks for (R2);
        /// [`Queues::confirmed`](crate::Queues::confirmed) sets it. Too few copies in time is no error: the
        /// result says so, beside the answer of the calls.
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
        /// [`LeasingExt::confirmed`](crate::LeasingExt::confirmed) says more.
        ///
        /// # Errors
        ///
        /// The errors of the calls. `Configuration` if the handle confirms nothing, before anything is done.
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

impl<T, Q: Leasing + ?Sized, C: Send + Sync + ?Sized> Typed<T, Q, C> {
    confirmed!();
}

impl<T, C: Send + Sync + ?Sized> Rotating<T, C> {
    confirmed!();
}
