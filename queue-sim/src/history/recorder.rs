use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use queue_core::{
    Error, QueueName, Result,
    call::{Answer, Call, Layer, Service, Step},
};

use super::{CallEnd, CallId, Journal};
use crate::plan::Process;

thread_local! {
    static CURRENT: Cell<Option<CallId>> = const { Cell::new(None) };
}

/// The recorded call whose future this thread is polling. From it, a layer in front of a queue knows for which call it
/// works, even if a process has several calls under way.
pub fn current_call() -> Option<CallId> {
    CURRENT.get()
}

/// Writes down every call that a process makes.
#[derive(Debug, Clone)]
pub struct Recorder {
    process: Process,
    journal: Journal,
}

impl Recorder {
    /// Records the calls of this process.
    pub const fn new(process: Process, journal: Journal) -> Self {
        Self { process, journal }
    }

    /// Records the call that this future makes, and the parts of its answer that a history needs.
    async fn record<T>(
        &self,
        name: &QueueName,
        call: Call,
        future: Step<'_, T>,
        answer_of: fn(&T) -> Answer,
    ) -> Result<T> {
        let Self { process, journal } = self;
        let id = journal.began(*process, name, call);
        let open = CallGuard { journal, id };
        let answered = Marked { id, future }.await;
        journal.ended(id, CallEnd::of(answered.as_ref().map(answer_of)));
        drop(open);
        answered
    }
}

#[async_trait]
impl Layer for Recorder {
    fn confirms(&self) -> bool {
        true
    }

    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let future = queue.call(call.clone());
        self.record(name, call, future, Answer::clone).await
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        name: &'a QueueName,
        call: Call,
        step: Step<'a, T>,
    ) -> Step<'a, T> {
        Box::pin(self.record(name, call, step, |_| Answer::Nothing))
    }
}

impl CallEnd {
    fn of(answer: Result<Answer, &Error>) -> Self {
        match answer {
            Ok(answer) => Self::Ok(answer),
            Err(error) => match error.outcome() {
                queue_core::Outcome::NotApplied => {
                    Self::NotApplied(error.kind(), error.to_string())
                }
                queue_core::Outcome::Unknown => Self::Unknown(error.kind(), error.to_string()),
            },
        }
    }
}

/// A call under way. If it is dropped before its end, the caller gave it up.
struct CallGuard<'a> {
    journal: &'a Journal,
    id: CallId,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        // This changes nothing if the call has ended.
        self.journal.ended(self.id, CallEnd::Dropped);
    }
}

/// Makes this the current call while its future is polled.
struct Marked<'a, T> {
    id: CallId,
    future: Step<'a, T>,
}

impl<T> Future for Marked<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let before = CURRENT.replace(Some(self.id));
        let polled = self.future.as_mut().poll(cx);
        CURRENT.set(before);
        polled
    }
}
