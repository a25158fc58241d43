//! Telling of a case in virtual time that time stands still: what would otherwise go on for ever.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::Duration,
};

use tokio::time::Instant;

/// How long, in real time, a case may stay at one instant of its own: far beyond what any takes, on
/// a busy machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// In how many looks that is told.
const LOOKS: u32 = 10;

/// Plays the case, and panics if tokio's clock stands still for so long in real time. That is so if
/// tasks go on and on without any time passing, each waking the other; and if all wait for what
/// never comes, and no timer runs. Where the clock is not paused it never stands still.
pub(crate) async fn moving<T>(case: impl Future<Output = T>, patience: Duration) -> T {
    let watch = Watch::begin(patience / LOOKS);
    let mut case = pin!(case);
    let (mut since, mut looks) = (None, 0);
    poll_fn(|cx| {
        if watch.asks(cx.waker()) {
            let now = Some(Instant::now());
            looks = if since == now { looks + 1 } else { 0 };
            since = now;
            assert!(
                looks < LOOKS,
                "virtual time stands still: for {patience:?} of real time tasks have gone on without \
                 any time passing, or all have waited for what never comes"
            );
        }
        case.as_mut().poll(cx)
    })
    .await
}

/// A thread that asks, now and then, to be told the time. It ends with this.
struct Watch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    waker: Option<Waker>,
    asks: bool,
    over: bool,
}

impl Watch {
    fn begin(every: Duration) -> Self {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        thread::spawn(move || watched.watch(every));
        Self(shared)
    }

    /// Whether the time is to be looked at; whoever is to be woken for the next look.
    fn asks(&self, waker: &Waker) -> bool {
        let mut state = self.0.lock();
        state.waker = Some(waker.clone());
        std::mem::take(&mut state.asks)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.ended.notify_all();
    }
}

impl Shared {
    fn watch(&self, every: Duration) {
        let mut state = self.lock();
        loop {
            let waited = self.ended.wait_timeout(state, every);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.over {
                return;
            }
            // A look that nobody has had time for is not two looks.
            state.asks = true;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use tokio::time::sleep;

    use super::*;
    use crate::in_process::runtime_in_virtual_time;

    const SOON: Duration = Duration::from_millis(200);

    fn stands_still(case: impl Future<Output = ()>) {
        let played = AssertUnwindSafe(|| runtime_in_virtual_time().block_on(moving(case, SOON)));
        let panic = catch_unwind(played).expect_err("it goes on for ever");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains("virtual time stands still"), "{message}");
    }

    #[test]
    fn tasks_that_let_no_time_pass_are_told() {
        stands_still(async {
            tokio::spawn(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
            sleep(Duration::from_secs(1)).await;
        });
    }

    #[test]
    fn a_wait_for_what_never_comes_is_told() {
        stands_still(std::future::pending());
    }

    #[test]
    fn a_long_case_whose_time_passes_is_not() {
        runtime_in_virtual_time().block_on(moving(
            async {
                for _ in 0..40 {
                    thread::sleep(SOON / 20);
                    sleep(Duration::from_secs(1)).await;
                }
            },
            SOON,
        ));
    }
}
