//! Finds cases in which virtual time stands still, which would otherwise run for ever.

use std::{
    pin::pin,
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// The longest real time that a case may stay at one virtual instant: far more than any case takes,
/// on a busy machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The number of comparisons in that time.
const CHECKS: u32 = 10;

/// Plays the case, and panics if tokio's clock stands still for the given real time. The clock stands still if tasks
/// wake each other for ever. It also does if all tasks wait for something that never comes, and no timer runs. A clock
/// that is not paused never stands still.
pub(crate) async fn moving<T>(case: impl Future<Output = T>, patience: Duration) -> T {
    let check = Arc::new(Notify::new());
    let _watched = watch(Arc::clone(&check), patience / CHECKS);
    let mut case = pin!(case);
    let (mut since, mut checks) = (None, 0);
    loop {
        tokio::select! {
            biased;
            () = check.notified() => {
                let now = Some(Instant::now());
                checks = if since == now { checks + 1 } else { 0 };
                since = now;
                assert!(
                    checks < CHECKS,
                    "virtual time stands still: for {patience:?} of real time tasks have gone on \
                     without any time passing, or all have waited for what never comes"
                );
            }
            answer = &mut case => return answer,
        }
    }
}

/// Starts a thread that now and then asks the case to compare the time. Dropping the answer ends it.
fn watch(check: Arc<Notify>, every: Duration) -> Sender<()> {
    let (watched, over) = channel();
    thread::spawn(move || {
        while over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            // If the case had no time for the last comparison, the two count as one.
            check.notify_one();
        }
    });
    watched
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
    fn tasks_that_let_no_time_pass_are_reported() {
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
    fn an_endless_wait_is_reported() {
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
