//! A shared value whose type the compiler does not check again.

use std::{fmt, ops::Deref, sync::Arc};

/// Shares a value, as an `Arc` does.
///
/// For each async function of a trait, the compiler proves that its future can be sent to another thread. For that it
/// checks all fields of everything that the future refers to, again for each function. Here the proof ends, because it
/// was given when the pointer was made. Without this, checking this crate took twice as long.
pub struct ErasedArc<T>(Arc<dyn Erased<T> + Send + Sync>);

trait Erased<T> {
    fn itself(&self) -> &T;
}

impl<T> Erased<T> for T {
    fn itself(&self) -> &T {
        self
    }
}

impl<T: Send + Sync + 'static> ErasedArc<T> {
    /// A pointer to this value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for ErasedArc<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for ErasedArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (*self.0).itself()
    }
}

impl<T: fmt::Debug> fmt::Debug for ErasedArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
