use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{self, Sleep};

/// When a step is interrupted: at its await of a number, from 1, and then
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// right there,
    AtOnce,
    /// when what it awaits has come, before it sees it,
    Woken,
    /// or so much later, wherever it is by then.
    After(Duration),
}

/// Whether a step was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It ran to its end.
    Not,
    /// It is where it was to be interrupted. Dropping its future does that.
    Here,
}

/// Runs a step up to where it is to be interrupted; to its end if it does not come there.
pub(super) struct UpTo<'a, F> {
    step: Pin<&'a mut F>,
    await_: u32,
    when: When,
    met: u32,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, F: Future<Output = ()>> UpTo<'a, F> {
    pub(super) const fn new(step: Pin<&'a mut F>, await_: u32, when: When) -> Self {
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
        if self.met == self.await_ && self.when == When::Woken {
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
                When::AtOnce => return Poll::Ready(Cut::Here),
                When::Woken => {}
                When::After(later) => {
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
