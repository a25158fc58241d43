//! Finds cases in which virtual time stands still, which would otherwise run for ever.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::Duration,
};

use tokio::time::Instant;

/// The longest real time that a case may stay at one virtual instant: far more than any case takes,
/// on a busy machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The number of looks in that time.
const LOOKS: u32 = 10;

/// Plays the case, and panics if tokio's clock stands still for this long in real time. It does so
/// if tasks wake each other for ever, or if all wait for something that never comes and no timer
/// runs. A clock that is not paused never stands still.
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

/// A thread that now and then asks the case to compare the time. Dropping this ends it.
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

    /// Whether to compare the time now. Stores the waker for the next look.
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
            // If the case had no time for the last look, the two count as one.
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
