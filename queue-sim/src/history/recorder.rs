use std::{
    cell::Cell,
    future::Future,
    num::NonZeroUsize,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use queue_core::{
    QueueConfig, QueueName, Result,
    call::{Answer, Call, Changing, Layer, Opening, Service},
};

use super::{CallId, Journal, Outcome};
use crate::plan::Lane;

thread_local! {
    static CURRENT: Cell<Option<CallId>> = const { Cell::new(None) };
}

/// The recorded call whose future this thread is polling. It tells a layer in front of a queue for
/// which call it works, even if a lane has several calls under way.
pub fn current_call() -> Option<CallId> {
    CURRENT.get()
}

/// Writes down every call that a lane makes.
#[derive(Debug, Clone)]
pub struct Recorder {
    lane: Lane,
    journal: Journal,
}

impl Recorder {
    /// Records the calls of this lane.
    pub const fn new(lane: Lane, journal: Journal) -> Self {
        Self { lane, journal }
    }
}

impl Recorder {
    /// Records a call to the backend, which answers nothing that a history needs.
    async fn record<T>(
        &self,
        name: &QueueName,
        call: Call,
        future: impl Future<Output = Result<T>> + Send + Unpin,
    ) -> Result<T> {
        let Self { lane, journal } = self;
        let id = journal.began(*lane, name, call);
        let open = Open { journal, id };
        let answered = Marked { id, future }.await;
        let told = answered.as_ref().map(|_| Answer::Nothing);
        journal.ended(id, Outcome::of(&told.map_err(Clone::clone)));
        drop(open);
        answered
    }
}

impl Layer for Recorder {
    fn before(&self, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Recorded {
            name: name.clone(),
            recorder: self.clone(),
            queue,
        })
    }

    fn before_resizing<'a>(
        &'a self,
        name: &'a QueueName,
        capacity: NonZeroUsize,
        opening: Opening<'a>,
    ) -> Opening<'a> {
        Box::pin(self.record(name, Call::OpenOrResize(capacity), opening))
    }

    fn before_reconfiguring<'a>(
        &'a self,
        name: &'a QueueName,
        config: &'a QueueConfig,
        changing: Changing<'a>,
    ) -> Changing<'a> {
        Box::pin(self.record(name, Call::Reconfigure(config.clone()), changing))
    }
}

#[derive(Debug)]
struct Recorded {
    name: QueueName,
    recorder: Recorder,
    queue: Arc<dyn Service>,
}

#[async_trait]
impl Service for Recorded {
    async fn call(&self, call: Call) -> Result<Answer> {
        let Recorder { lane, journal } = &self.recorder;
        let id = journal.began(*lane, &self.name, call.clone());
        let open = Open { journal, id };
        let answer = Marked {
            id,
            future: self.queue.call(call),
        };
        let answer = answer.await;
        journal.ended(id, Outcome::of(&answer));
        drop(open);
        answer
    }
}

impl Outcome {
    fn of(answer: &Result<Answer>) -> Self {
        match answer {
            Ok(answer) => Self::Ok(answer.clone()),
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
struct Open<'a> {
    journal: &'a Journal,
    id: CallId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // This changes nothing if the call has ended.
        self.journal.ended(self.id, Outcome::Dropped);
    }
}

/// Makes this the current call while its future is polled.
struct Marked<F> {
    id: CallId,
    future: F,
}

impl<F: Future + Unpin> Future for Marked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let before = CURRENT.replace(Some(self.id));
        let polled = Pin::new(&mut self.future).poll(cx);
        CURRENT.set(before);
        polled
    }
}
