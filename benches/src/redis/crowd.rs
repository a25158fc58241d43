//! Several clients that push to a bounded queue at once, from the first message on: the time of a push,
//! and how far the queue exceeds its length.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    contenders::Contender,
    fixture::{Fixture, Shape},
    jobs::Jobs,
    ours::measured,
};
use crate::pairs::Work;

/// The length that the queue should keep.
pub const LENGTH: usize = 10;
/// The clients, each with one push under way.
pub const SHAPE: Shape = Shape::new(1, 8);

/// The figures of a crowd, sample by sample.
#[derive(Debug, Default)]
pub struct Crowd {
    /// Microseconds of a push, with all clients at it.
    pub micros: RefCell<Vec<f64>>,
    /// The most messages over the length.
    pub over: RefCell<Vec<f64>>,
}

/// Pushes, while another client reads the length all the time.
///
/// # Panics
///
/// If the queue refuses.
pub fn push<'a>(fixture: &'a Fixture, contender: &'a Contender, crowd: &'a Crowd) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        let (time, most) = fixture.runtime.block_on(async {
            let (backend, plain) = (&fixture.backend, &fixture.raw);
            let jobs = Jobs::open(contender, backend, plain, name, LENGTH).await;
            let ended = Arc::new(AtomicBool::new(false));
            let watcher = tokio::spawn({
                let (jobs, ended) = (jobs.clone(), Arc::clone(&ended));
                async move {
                    let mut most = 0_u64;
                    loop {
                        // Read before the length is, so that the last read of the length comes after the last push.
                        let is_last = ended.load(Ordering::Relaxed);
                        most = most.max(jobs.length().await);
                        if is_last {
                            return most;
                        }
                    }
                }
            });
            let caller = || {
                let jobs = jobs.clone();
                async move {
                    for _ in 0..rounds {
                        jobs.put(1).await;
                    }
                }
            };
            let time = SHAPE.time(caller).await;
            ended.store(true, Ordering::Relaxed);
            (time, watcher.await.expect("the watcher ends"))
        });
        let pushes = rounds * SHAPE.messages() as u64;
        let micros = time.as_secs_f64() * 1e6 / pushes as f64;
        crowd.micros.borrow_mut().push(micros);
        let over = most.saturating_sub(LENGTH as u64);
        crowd.over.borrow_mut().push(over as f64);
        time
    })
}
