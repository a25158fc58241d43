use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use queue_core::{
    Error, ErrorKind, Outcome, QueueName, Result,
    call::{Answer, Call, Layer, Service, Step},
};
use tokio::{
    sync::oneshot,
    time::{self, Instant},
};

use super::{super::Network, Fault};
use crate::{
    engine::yield_now,
    history::{CallId, current_call},
    plan::{Process, What},
};

/// The faults of a request.
const REQUEST: &[Fault] = &[
    Fault::Refused,
    Fault::RequestLost,
    Fault::Delayed,
    Fault::Late,
    Fault::Repeated,
];
/// The faults of a reply.
const REPLY: &[Fault] = &[Fault::ReplyLost, Fault::Delayed];
/// The faults of a wait.
const WAIT: &[Fault] = &[Fault::Spurious, Fault::Refused, Fault::Delayed, Fault::Cut];

/// Puts a faulty network between one process and any queue.
///
/// Before and after the queue executes a call, other processes may go first, so that calls that are atomic in
/// themselves interleave in every order. When the queue has executed a recorded call, this notes it in the
/// [`Journal`](crate::history::Journal). So the history has the truth even if a lost reply leaves the caller without
/// it.
///
/// A queue's call may take effect before its last poll. Then the journal has the truth only if no
/// caller drops a call half-way.
#[derive(Debug, Clone)]
pub struct FaultInjector {
    process: Process,
    network: Network,
}

impl FaultInjector {
    /// This process's faults, on this network.
    pub const fn new(process: Process, network: Network) -> Self {
        Self { process, network }
    }
}

#[async_trait]
impl Layer for FaultInjector {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        if call.is_wait() {
            return self.wait(queue, call).await;
        }
        yield_now().await;
        let answer = if self.network.is_calm() {
            self.execute(queue, current_call(), call).await
        } else {
            self.exchange(queue, call).await
        };
        yield_now().await;
        answer
    }

    /// No fault strikes here, since a process repeats its opening until the queue is open.
    fn around<'a, T: Send + 'a>(
        &'a self,
        _: &'a QueueName,
        _: Call,
        step: Step<'a, T>,
    ) -> Step<'a, T> {
        Box::pin(async move {
            yield_now().await;
            let answered = step.await;
            if let (Some(id), Ok(_)) = (current_call(), &answered) {
                self.executed(id);
            }
            yield_now().await;
            answered
        })
    }
}

impl FaultInjector {
    /// Sends a request and waits for the reply.
    async fn exchange(&self, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let Self { process, network } = self;
        let id = current_call();
        let limit = Instant::now() + network.patience();
        network.partition(*process);
        let struck = network.strike(*process, What::Request, REQUEST);
        let held = network.faults().held(*process).is_some();
        let answer = match struck {
            Some(Fault::Refused) => return Err(refused()),
            Some(Fault::RequestLost) => return Err(no_reply(limit).await),
            Some(Fault::Late) => {
                let late = network.patience() + network.faults().delay(*process);
                self.send(queue, id, call, late, limit).await?
            }
            Some(Fault::Delayed) => {
                let late = network.faults().delay(*process);
                self.send(queue, id, call, late, limit).await?
            }
            Some(Fault::Repeated) => {
                let again = (self.clone(), Arc::clone(queue), call.clone());
                let answer = self.execute(queue, id, call).await;
                network.carry(*process, network.faults().delay(*process), async move {
                    let (injector, queue, call) = again;
                    // No client reads this reply.
                    let _ = injector.execute(&queue, id, call).await;
                });
                answer?
            }
            _ if held => self.send(queue, id, call, Duration::ZERO, limit).await?,
            _ => self.execute(queue, id, call).await?,
        };
        match network.strike(*process, What::Reply, REPLY) {
            Some(Fault::ReplyLost) => return Err(no_reply(limit).await),
            Some(_) => time::sleep(network.faults().delay(*process)).await,
            None => {}
        }
        match network.faults().held(*process) {
            Some(until) if until > limit => Err(no_reply(limit).await),
            Some(until) => {
                time::sleep_until(until).await;
                Ok(answer)
            }
            None => Ok(answer),
        }
    }

    /// Executes the call after a delay, even if the caller goes away, and waits for the reply until
    /// the limit.
    async fn send(
        &self,
        queue: &Arc<dyn Service>,
        id: Option<CallId>,
        call: Call,
        late: Duration,
        limit: Instant,
    ) -> Result<Answer> {
        let (sender, reply) = oneshot::channel();
        let (injector, queue) = (self.clone(), Arc::clone(queue));
        self.network.carry(self.process, late, async move {
            let answer = injector.execute(&queue, id, call).await;
            // A client that has given up reads no reply.
            let _ = sender.send(answer);
        });
        match time::timeout_at(limit, reply).await {
            Ok(Ok(answer)) => answer,
            _ => Err(no_reply(limit).await),
        }
    }

    /// Executes a call at once, and notes it in the journal.
    async fn execute(
        &self,
        queue: &Arc<dyn Service>,
        id: Option<CallId>,
        call: Call,
    ) -> Result<Answer> {
        let answer = queue.call(call).await;
        let is_undone = match &answer {
            Ok(_) => false,
            Err(error) => error.outcome() == Outcome::NotApplied || NotExecuted::is_cause_of(error),
        };
        if let (Some(id), false) = (id, is_undone) {
            self.executed(id);
        }
        answer
    }

    /// Notes in the journal that the queue has executed the call.
    fn executed(&self, id: CallId) {
        let journal = self.network.faults().journal();
        journal.executed(id, journal.now());
    }

    /// The queue never executes waits, because they move nothing.
    async fn wait(&self, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let Self { process, network } = self;
        yield_now().await;
        match network.strike(*process, What::Request, WAIT) {
            Some(Fault::Spurious) => return Ok(call.waited()),
            Some(Fault::Refused) => return Err(refused()),
            Some(Fault::Delayed) => {
                let answer = queue.call(call).await;
                time::sleep(network.faults().delay(*process)).await;
                return answer;
            }
            Some(_) => {
                // The connection breaks, and the client waits again on another one.
                if let Some(answer) = queue.call(call.clone()).now_or_never() {
                    return answer;
                }
                yield_now().await;
            }
            None => {}
        }
        let answer = queue.call(call).await;
        yield_now().await;
        answer
    }
}

/// The cause of an error whose outcome the caller does not know, where the world knows that the call was not executed.
#[derive(Debug)]
pub(in crate::world) struct NotExecuted;

impl NotExecuted {
    fn is_cause_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(|cause| cause.is::<Self>())
    }
}

impl fmt::Display for NotExecuted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the power failed before it was on the disk")
    }
}

impl std::error::Error for NotExecuted {}

/// The error of a call without a reply, once its caller gives up.
async fn no_reply(limit: Instant) -> Error {
    time::sleep_until(limit).await;
    Error::new(ErrorKind::Unavailable, "no reply").with_outcome(Outcome::Unknown)
}

fn refused() -> Error {
    Error::new(ErrorKind::Unavailable, "refused before it was sent")
}
