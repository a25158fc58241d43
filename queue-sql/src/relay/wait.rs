//! Waiting for one of several things.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};

/// Runs `work` unless `other` ends first; then returns `None`, and `work` can go on.
pub(super) async fn unless<T>(
    mut work: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    other: impl Future<Output = ()>,
) -> Option<T> {
    let mut other = pin!(other);
    poll_fn(|cx| {
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        other.as_mut().poll(cx).map(|()| None)
    })
    .await
}
