//! The task that sends for several callers.

use std::{any::Any, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use queue_core::{Error, ErrorKind, Outcome, Result};
use tokio::{sync::oneshot::Sender, time};

use super::{
    SendBatch,
    backlog::QueuedRequests,
    is_for_one_caller,
    shared::{BatcherState, SharedCall, TaskStep},
};
use crate::panic;

/// A caller: the number of its entries, and where it waits for their replies.
type Caller<A> = (usize, Sender<Result<Vec<A>>>);

/// Sends the waiting entries.
pub(super) struct Task<V: SendBatch> {
    shared: Arc<BatcherState<V>>,
    patience: Duration,
}

impl<V: SendBatch> Task<V> {
    pub(super) const fn new(shared: Arc<BatcherState<V>>, patience: Duration) -> Self {
        Self { shared, patience }
    }

    pub(super) async fn run(self) {
        loop {
            self.give_back().await;
            match self.shared.step() {
                TaskStep::Sleep => self.shared.work().await,
                TaskStep::Await(number, call) => self.wait_for(number, call).await,
                TaskStep::Send => self.send_all().await,
            }
        }
    }

    /// Waits for the end of a caller's call. The caller may not be polled any more, so the task polls the call. The
    /// call's timers may belong to a runtime that nobody drives, so the task has a timer of its own.
    async fn wait_for(&self, number: u64, call: SharedCall<V::Reply>) {
        let mut call = AssertUnwindSafe(call).catch_unwind();
        let mut patience = pin!(time::sleep(self.patience));
        loop {
            tokio::select! {
                biased;
                () = self.shared.work() => {
                    if !self.shared.is_sending(number) {
                        return;
                    }
                }
                _ = &mut call => break,
                () = &mut patience => break,
            }
        }
        self.shared.end_direct(number);
    }

    async fn send_all(&self) {
        loop {
            if let Err(error) = self.shared.sender.ready().await {
                self.shared.refuse_all(&error);
            }
            let batch = self.shared.next_batch();
            if batch.is_empty() {
                if self.shared.go_idle() {
                    return;
                }
                continue;
            }
            self.send(batch).await;
            self.give_back().await;
            // Callers that just got their replies may be about to call again. The task lets them run first, so that
            // they are sent with the callers that already wait. Otherwise the two groups would alternate, in twice as
            // many calls.
            tokio::task::yield_now().await;
        }
    }

    async fn send(&self, batch: Vec<QueuedRequests<V>>) {
        let mut entries = Vec::new();
        let mut callers = Vec::with_capacity(batch.len());
        for waiting in batch {
            callers.push((waiting.entries.len(), waiting.answer));
            entries.extend(waiting.entries);
        }
        let answers = self.call(&entries).await;
        if callers.len() > 1
            && let Err(error) = &answers
            && is_for_one_caller(error)
        {
            return self.send_one_by_one(&entries, callers).await;
        }
        self.shared.keep_unwanted(deal(answers, callers));
    }

    /// Sends each caller's entries in a call of their own, so that the error of one caller harms no other. A caller
    /// that is gone is not sent. Once a call fails otherwise than by its entries, the rest is not sent either.
    async fn send_one_by_one(&self, mut entries: &[V::Request], callers: Vec<Caller<V::Reply>>) {
        let mut failed: Option<Error> = None;
        for (count, caller) in callers {
            let (own, rest) = entries.split_at(count);
            entries = rest;
            if caller.is_closed() {
                continue;
            }
            let answers = match &failed {
                None => self.call(own).await,
                Some(error) => Err(error.clone().with_outcome(Outcome::NotApplied)),
            };
            if let Err(error) = &answers
                && !is_for_one_caller(error)
            {
                failed.get_or_insert_with(|| error.clone());
            }
            self.shared
                .keep_unwanted(deal(answers, vec![(count, caller)]));
        }
    }

    async fn call(&self, entries: &[V::Request]) -> Result<Vec<V::Reply>> {
        let call = AssertUnwindSafe(self.shared.sender.send_batch(entries)).catch_unwind();
        call.await.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    async fn give_back(&self) {
        let unwanted = self.shared.take_unwanted();
        if !unwanted.is_empty() {
            self.shared.sender.give_back(unwanted).await;
        }
    }
}

/// When the task ends, it fails all waiting callers as not sent.
impl<V: SendBatch> Drop for Task<V> {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.refuse_all(&Error::new(
            ErrorKind::Unavailable,
            "nothing was sent: the task that sends for several callers was stopped",
        ));
    }
}

/// Gives each caller its share of the replies, or the error. Returns the replies of callers that are gone.
fn deal<A>(answers: Result<Vec<A>>, callers: Vec<Caller<A>>) -> Vec<A> {
    let mut unwanted = Vec::new();
    match answers {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            for (count, caller) in callers {
                let share = answers.by_ref().take(count).collect();
                if let Err(Ok(share)) = caller.send(Ok(share)) {
                    unwanted.extend(share);
                }
            }
        }
        Err(error) => {
            for (_, caller) in callers {
                let _ = caller.send(Err(error.clone()));
            }
        }
    }
    unwanted
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let said = panic::message(panic);
    Error::new(
        ErrorKind::Internal,
        format!("sending for several callers panicked: {said} (please report it)"),
    )
    .with_outcome(Outcome::Unknown)
}
