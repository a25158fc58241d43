//! What sends for several callers.

use std::{any::Any, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use queue_core::{Error, ErrorKind, Outcome, Result};
use tokio::{sync::oneshot::Sender, time};

use super::{
    Verb,
    line::Waiting,
    turn::{Call, Shared, Step},
};
use crate::panic;

/// Sends what waits.
pub(super) struct Task<V: Verb> {
    shared: Arc<Shared<V>>,
    patience: Duration,
}

impl<V: Verb> Task<V> {
    pub(super) const fn new(shared: Arc<Shared<V>>, patience: Duration) -> Self {
        Self { shared, patience }
    }

    pub(super) async fn run(self) {
        loop {
            match self.shared.step() {
                Step::Rest => self.shared.work().await,
                Step::Await(number, call) => self.wait_for(number, call).await,
                Step::Send => self.send_all().await,
            }
        }
    }

    /// Waits for the end of a caller's call, which this may bring about: the caller need not be
    /// polled. Its timers may be those of a runtime that nobody drives, so there is one of ours.
    async fn wait_for(&self, number: u64, call: Call<V::Answer>) {
        let mut call = AssertUnwindSafe(call).catch_unwind();
        let mut patience = pin!(time::sleep(self.patience));
        loop {
            tokio::select! {
                biased;
                () = self.shared.work() => {
                    if !self.shared.is_turn_of(number) {
                        return;
                    }
                }
                _ = &mut call => break,
                () = &mut patience => break,
            }
        }
        self.shared.end_first(number);
    }

    async fn send_all(&self) {
        let mut rested = false;
        loop {
            if let Err(error) = self.shared.verb.ready().await {
                self.shared.refuse_all(&error);
            }
            let batch = self.shared.next_batch();
            if !batch.is_empty() {
                rested = false;
                self.send(batch).await;
            } else if !rested {
                // Those who were just answered may be about to come again: together, if they are
                // let run first.
                rested = true;
                tokio::task::yield_now().await;
            } else if self.shared.rest() {
                return;
            }
        }
    }

    async fn send(&self, batch: Vec<Waiting<V>>) {
        let mut entries = Vec::new();
        let mut callers = Vec::with_capacity(batch.len());
        for waiting in batch {
            callers.push((waiting.entries.len(), waiting.answer));
            entries.extend(waiting.entries);
        }
        let call = AssertUnwindSafe(self.shared.verb.send(&entries)).catch_unwind();
        deal(
            call.await.unwrap_or_else(|panic| Err(panicked(&*panic))),
            callers,
        );
    }
}

/// The task's end: who still waits was not sent, and is told so.
impl<V: Verb> Drop for Task<V> {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.refuse_all(&Error::new(
            ErrorKind::Unavailable,
            "nothing was sent: the task that sends for several callers was stopped",
        ));
    }
}

/// Gives each caller its share of the answers, or the error.
fn deal<A>(answers: Result<Vec<A>>, callers: Vec<(usize, Sender<Result<Vec<A>>>)>) {
    match answers {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            for (count, caller) in callers {
                // A caller that is gone does not want its answer.
                let _ = caller.send(Ok(answers.by_ref().take(count).collect()));
            }
        }
        Err(error) => {
            for (_, caller) in callers {
                let _ = caller.send(Err(error.clone()));
            }
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let said = panic::message(panic);
    Error::new(
        ErrorKind::Internal,
        format!("sending for several callers panicked: {said} (please report it)"),
    )
    .with_outcome(Outcome::Unknown)
}
