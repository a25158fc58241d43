use std::{future::Future, num::NonZeroUsize, pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Error, ErrorKind, Outcome, QueueConfig, QueueName, Result,
    call::{Answer, Call, Changing, Layer, Opening, Service},
};
use tokio::{
    sync::oneshot,
    time::{self, Instant},
};

use super::{Fault, network::Network};
use crate::{
    engine::yield_now,
    history::{CallId, current_call},
    plan::{Lane, What},
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

/// Puts a faulty network between one lane and any queue.
///
/// Before and after the queue executes a call, other lanes may go first, so that calls that are
/// atomic in themselves interleave in every order. When the queue has executed a recorded call,
/// this tells the [`Journal`](crate::history::Journal). So the history has the truth even where a
/// lost reply leaves the caller without it.
///
/// A queue's call may take effect before its last poll. Then the journal has the truth only if no
/// caller drops a call half-way.
#[derive(Debug, Clone)]
pub struct Faulty {
    lane: Lane,
    network: Network,
}

impl Faulty {
    /// This lane's faults, on this network.
    pub const fn new(lane: Lane, network: Network) -> Self {
        Self { lane, network }
    }
}

impl Faulty {
    /// A call to the backend, with its truth in the journal.
    async fn executed<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        yield_now().await;
        let answered = call.await;
        if let (Some(id), Ok(_)) = (current_call(), &answered) {
            let journal = self.network.trouble().journal();
            journal.executed(id, journal.now());
        }
        yield_now().await;
        answered
    }
}

impl Layer for Faulty {
    fn before(&self, _name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Line {
            faulty: self.clone(),
            queue,
        })
    }

    /// No fault strikes here, since a lane repeats its opening until the queue is open.
    fn before_resizing<'a>(
        &'a self,
        _name: &'a QueueName,
        _capacity: NonZeroUsize,
        opening: Opening<'a>,
    ) -> Opening<'a> {
        Box::pin(self.executed(opening))
    }

    /// No fault strikes here either.
    fn before_reconfiguring<'a>(
        &'a self,
        _name: &'a QueueName,
        _config: &'a QueueConfig,
        changing: Changing<'a>,
    ) -> Changing<'a> {
        Box::pin(self.executed(changing))
    }
}

/// One lane's way to one queue, with its faults.
#[derive(Debug, Clone)]
struct Line {
    faulty: Faulty,
    queue: Arc<dyn Service>,
}

#[async_trait]
impl Service for Line {
    async fn call(&self, call: Call) -> Result<Answer> {
        if call.is_wait() {
            return self.wait(call).await;
        }
        yield_now().await;
        let answer = if self.faulty.network.is_calm() {
            self.execute(current_call(), call).await
        } else {
            self.exchange(call).await
        };
        yield_now().await;
        answer
    }
}

impl Line {
    /// Sends a request and waits for the reply.
    async fn exchange(&self, call: Call) -> Result<Answer> {
        let Faulty { lane, network } = &self.faulty;
        let id = current_call();
        let limit = Instant::now() + network.patience();
        network.partition(*lane);
        let struck = network.strike(*lane, What::Request, REQUEST);
        let held = network.trouble().held(*lane).is_some();
        let answer = match struck {
            Some(Fault::Refused) => return Err(refused()),
            Some(Fault::RequestLost) => return Err(self.no_reply(limit).await),
            Some(Fault::Late) => {
                let late = network.patience() + network.trouble().delay(*lane);
                self.send(id, call, late, limit).await?
            }
            Some(Fault::Delayed) => {
                let late = network.trouble().delay(*lane);
                self.send(id, call, late, limit).await?
            }
            Some(Fault::Repeated) => {
                let again = (self.clone(), call.clone());
                let answer = self.execute(id, call).await;
                network.carry(*lane, network.trouble().delay(*lane), async move {
                    let (line, call) = again;
                    // No client reads this reply.
                    let _ = line.execute(id, call).await;
                });
                answer?
            }
            _ if held => self.send(id, call, Duration::ZERO, limit).await?,
            _ => self.execute(id, call).await?,
        };
        match network.strike(*lane, What::Reply, REPLY) {
            Some(Fault::ReplyLost) => return Err(self.no_reply(limit).await),
            Some(_) => time::sleep(network.trouble().delay(*lane)).await,
            None => {}
        }
        match network.trouble().held(*lane) {
            Some(until) if until > limit => Err(self.no_reply(limit).await),
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
        id: Option<CallId>,
        call: Call,
        late: Duration,
        limit: Instant,
    ) -> Result<Answer> {
        let Faulty { lane, network } = &self.faulty;
        let (sender, reply) = oneshot::channel();
        let line = self.clone();
        network.carry(*lane, late, async move {
            let answer = line.execute(id, call).await;
            // A client that gave up reads no reply.
            let _ = sender.send(answer);
        });
        match time::timeout_at(limit, reply).await {
            Ok(Ok(answer)) => answer,
            _ => Err(self.no_reply(limit).await),
        }
    }

    /// Executes a call here and now, and tells the journal.
    async fn execute(&self, id: Option<CallId>, call: Call) -> Result<Answer> {
        let answer = self.queue.call(call).await;
        let refused = matches!(&answer, Err(error) if error.outcome() == Outcome::NotApplied);
        if let (Some(id), false) = (id, refused) {
            let journal = self.faulty.network.trouble().journal();
            journal.executed(id, journal.now());
        }
        answer
    }

    /// The error of a call without a reply, once its caller gives up.
    async fn no_reply(&self, limit: Instant) -> Error {
        time::sleep_until(limit).await;
        Error::new(ErrorKind::Unavailable, "no reply").with_outcome(Outcome::Unknown)
    }

    /// The queue never executes waits, since they move nothing.
    async fn wait(&self, call: Call) -> Result<Answer> {
        let Faulty { lane, network } = &self.faulty;
        yield_now().await;
        match network.strike(*lane, What::Request, WAIT) {
            Some(Fault::Spurious) => return Ok(call.waited()),
            Some(Fault::Refused) => return Err(refused()),
            Some(Fault::Delayed) => {
                let answer = self.queue.call(call).await;
                time::sleep(network.trouble().delay(*lane)).await;
                return answer;
            }
            Some(_) => {
                // The connection breaks, and the client waits again on another one.
                let early = self.queue.call(call.clone());
                if let Some(answer) = polled_once(early).await {
                    return answer;
                }
                yield_now().await;
            }
            None => {}
        }
        let answer = self.queue.call(call).await;
        yield_now().await;
        answer
    }
}

fn refused() -> Error {
    Error::new(ErrorKind::Unavailable, "refused before it was sent")
}

/// Polls the future once and drops it. Answers its result if it was ready.
async fn polled_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        let polled = future.as_mut().poll(cx);
        std::task::Poll::Ready(match polled {
            std::task::Poll::Ready(answer) => Some(answer),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
