//! Messages from handlers' tasks to the loop, over one channel.

use std::time::Duration;

use queue_core::Result;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{guard::Contained, handler_result::HandlerResult};

#[derive(Debug)]
pub(crate) enum TaskMessage {
    /// A handler's task is over.
    Ended {
        job: u64,
        /// One result for each message, or none if the task was stopped or panicked outside the handler.
        endings: Option<Vec<HandlerResult>>,
        /// The message of a panic outside the handler, such as a panic in a drop when the handler is cut off.
        panic: Option<String>,
        took: Duration,
    },
    /// A handler has reported the first progress of a lease.
    Progress { job: u64 },
    /// A handler wants its lease extended.
    Extend(ExtendRequest),
}

/// A handler's request to extend its lease.
#[derive(Debug)]
pub(crate) struct ExtendRequest {
    /// The job, and the entry in it: they name the delivery in the loop.
    pub(crate) job: u64,
    pub(crate) entry: usize,
    pub(crate) lease_time: Duration,
    /// Whether to store the state of the message, too: as it is when the call is sent, so that no later state is
    /// replaced by an earlier one.
    pub(crate) stores_state: bool,
    pub(crate) reply: oneshot::Sender<Result<()>>,
}

/// Reports to the loop, when it is dropped, that a task is over: so a panic or an abort reports, too. It
/// lives in the task and outlives the handler: once the loop gets the report, nothing of the handler still
/// runs.
#[derive(Debug)]
pub(crate) struct EndReporter {
    job: u64,
    started: Instant,
    notes: mpsc::UnboundedSender<TaskMessage>,
    endings: Option<Vec<HandlerResult>>,
    panic: Option<String>,
}

impl EndReporter {
    pub(crate) const fn new(
        job: u64,
        started: Instant,
        notes: mpsc::UnboundedSender<TaskMessage>,
    ) -> Self {
        Self {
            job,
            started,
            notes,
            endings: None,
            panic: None,
        }
    }

    /// The task: the handler, and then the drop of this guard.
    pub(crate) async fn after(
        mut self,
        handling: impl Future<Output = Vec<HandlerResult>> + Unpin,
    ) {
        // The awaited future drops before `self` does, also when the task is stopped.
        self.endings = Contained::new(handling, &mut self.panic).await;
    }
}

impl Drop for EndReporter {
    fn drop(&mut self) {
        // Sending fails if the worker was dropped.
        let _ = self.notes.send(TaskMessage::Ended {
            job: self.job,
            endings: self.endings.take(),
            panic: self.panic.take(),
            took: self.started.elapsed(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        task::{Context, Waker},
    };

    use queue_testing::interleave::{block_on, exhaustive, spawn, step};
    use tokio::{sync::mpsc, time::Instant};

    use super::{EndReporter, TaskMessage};
    use crate::{Verdict, handler_result::HandlerResult};

    type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

    /// A value in a handler that takes time to drop.
    struct Handler(Arc<AtomicUsize>);

    impl Drop for Handler {
        fn drop(&mut self) {
            step();
            self.0.fetch_sub(1, SeqCst);
        }
    }

    async fn handle(alive: Arc<AtomicUsize>, ends: bool) -> Vec<HandlerResult> {
        let _handler = Handler(alive);
        step();
        if !ends {
            pending::<()>().await;
        }
        vec![HandlerResult::Returned(Verdict::Done)]
    }

    /// The tasks of two handlers: one ends, the other is stopped half-way.
    fn two_handlers<T: Future<Output = ()> + Send + 'static>(
        task: fn(EndReporter, BoxFuture<Vec<HandlerResult>>) -> T,
    ) {
        let (note_sender, mut notes) = mpsc::unbounded_channel();
        let alive = [(); 2].map(|()| Arc::new(AtomicUsize::new(1)));
        for (job, alive) in alive.iter().enumerate() {
            let handling = Box::pin(handle(Arc::clone(alive), job == 0));
            let reporter = EndReporter::new(job as u64, Instant::now(), note_sender.clone());
            let task = task(reporter, handling);
            spawn(move || {
                if job == 0 {
                    return block_on(task);
                }
                let mut task = Box::pin(task);
                let begun = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(begun.is_pending());
            });
        }
        drop(note_sender);
        let mut heard = [0; 2];
        while let Some(note) = block_on(notes.recv()) {
            let TaskMessage::Ended { job, endings, .. } = note else {
                panic!("nobody asked for anything")
            };
            assert_eq!(alive[job as usize].load(SeqCst), 0, "it is still at work");
            assert_eq!(endings.is_some(), job == 0);
            heard[job as usize] += 1;
        }
        assert_eq!(heard, [1, 1]);
    }

    #[test]
    fn each_end_is_heard_once_and_not_before_nothing_of_the_handler_is_left() {
        let orders = exhaustive(|| two_handlers(|reporter, handling| reporter.after(handling)));
        assert!(orders > 50, "{orders}");
    }

    #[test]
    #[should_panic(expected = "it is still at work")]
    fn a_task_that_reports_before_its_handler_is_gone_is_seen() {
        exhaustive(|| {
            two_handlers(|reporter, mut handling| async move {
                let mut reporter = reporter;
                reporter.endings = Some(handling.as_mut().await);
            });
        });
    }
}
