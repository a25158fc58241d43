use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// What ended a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Nothing: it ran to its end.
    Not,
    /// It was to be interrupted at this await. Dropping the future interrupts it.
    Here,
}

/// Runs a step up to its await of this number, from 1; to its end if there are not so many.
pub(super) struct UpTo<'a, F> {
    step: Pin<&'a mut F>,
    await_: u32,
    met: u32,
}

impl<'a, F: Future<Output = ()>> UpTo<'a, F> {
    pub(super) const fn new(step: Pin<&'a mut F>, await_: u32) -> Self {
        Self {
            step,
            await_,
            met: 0,
        }
    }
}

impl<F: Future<Output = ()>> Future for UpTo<'_, F> {
    type Output = Cut;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cut> {
        if self.step.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Cut::Not);
        }
        self.met += 1;
        if self.met == self.await_ {
            return Poll::Ready(Cut::Here);
        }
        Poll::Pending
    }
}
