//! A future that shows whether it sleeps: its last poll was pending, and nothing has woken it since.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Wake, Waker},
};

#[derive(Debug, Default)]
pub(crate) struct Sleeper(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of its polls.
    polls: u64,
    woken: bool,
    pending: bool,
    waker: Option<Waker>,
}

impl Sleeper {
    /// Drives a future of this sleeper.
    pub(crate) async fn watch<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let mut state = self.lock();
            state.polls += 1;
            state.pending = false;
            state.woken = false;
            state.waker = Some(cx.waker().clone());
            drop(state);
            let own = Waker::from(Arc::clone(self));
            let polled = future.as_mut().poll(&mut Context::from_waker(&own));
            self.lock().pending = polled.is_pending();
            polled
        })
        .await
    }

    /// The number of its current sleep, if it sleeps. The same number means the same sleep.
    pub(crate) fn nap(&self) -> Option<u64> {
        let state = self.lock();
        (state.pending && !state.woken).then_some(state.polls)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        let waker = {
            let mut state = self.lock();
            state.woken = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
