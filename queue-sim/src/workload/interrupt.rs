use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{self, Sleep};

/// The moment of an interruption: at the step's await with a given number, counted from 1, and then
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutPoint {
    /// right there,
    AtOnce,
    /// when that await is ready, before the step sees it,
    Woken,
    /// or this much later, wherever the step is by then.
    After(Duration),
}

/// Whether a step was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The step ran to its end.
    Not,
    /// The step is at its interruption. The caller interrupts it by dropping its future.
    Here,
}

/// Runs a step up to its interruption, or to its end if that comes first.
pub(super) struct UpTo<'a, F> {
    step: Pin<&'a mut F>,
    await_: u32,
    when: CutPoint,
    met: u32,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, F: Future<Output = ()>> UpTo<'a, F> {
    pub(super) const fn new(step: Pin<&'a mut F>, await_: u32, when: CutPoint) -> Self {
        Self {
            step,
            await_,
            when,
            met: 0,
            timer: None,
        }
    }
}

impl<F: Future<Output = ()>> Future for UpTo<'_, F> {
    type Output = Cut;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cut> {
        if self.met == self.await_ && self.when == CutPoint::Woken {
            return Poll::Ready(Cut::Here);
        }
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Cut::Here);
        }
        if self.step.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Cut::Not);
        }
        self.met += 1;
        if self.met == self.await_ {
            match self.when {
                CutPoint::AtOnce => return Poll::Ready(Cut::Here),
                CutPoint::Woken => {}
                CutPoint::After(later) => {
                    let mut timer = Box::pin(time::sleep(later));
                    if timer.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Cut::Here);
                    }
                    self.timer = Some(timer);
                }
            }
        }
        Poll::Pending
    }
}
