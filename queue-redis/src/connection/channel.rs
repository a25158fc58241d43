use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use redis::{Cmd, Pipeline, PushInfo, RedisResult, ServerError, Value, aio::ConnectionLike};
use tokio::{
    sync::{Notify, mpsc},
    time::{self, error::Elapsed},
};

use super::Link;
use crate::error::Failure;

/// After so many requests in a row without an answer the connection is taken for half-open, and
/// is built anew. One alone may be a slow server, which a reconnect would only burden further.
const SILENT_REQUESTS: u32 = 2;

/// An open connection in use: sends requests, and notices when it should be replaced.
#[derive(Debug)]
pub(crate) struct Channel {
    link: Link,
    response_timeout: Duration,
    unanswered: AtomicU32,
    given_up: AtomicBool,
    broken: Notify,
}

impl Channel {
    pub(crate) fn new(link: Link, response_timeout: Duration) -> Self {
        Self {
            link,
            response_timeout,
            unanswered: AtomicU32::new(0),
            given_up: AtomicBool::new(false),
            broken: Notify::new(),
        }
    }

    /// Sends one command and waits for its answer up to the response timeout.
    pub(crate) async fn request(&self, command: &Cmd) -> Result<Value, Failure> {
        self.request_within(command, self.response_timeout).await
    }

    /// Sends one command and waits for its answer up to `timeout`.
    pub(crate) async fn request_within(
        &self,
        command: &Cmd,
        timeout: Duration,
    ) -> Result<Value, Failure> {
        let mut link = self.link.clone();
        let answer = time::timeout(timeout, link.req_packed_command(command)).await;
        match self.judge(answer, timeout)? {
            Value::ServerError(refusal) => Err(self.refused(refusal)),
            value => Ok(value),
        }
    }

    /// Sends commands whose answers only matter if they are errors, in one round trip.
    pub(crate) async fn request_all(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
    ) -> Result<(), Failure> {
        let answers = self.request_each(commands).await?;
        answers.into_iter().try_for_each(|answer| answer.map(drop))
    }

    /// Sends commands in one round trip; each has an answer of its own.
    pub(crate) async fn request_each(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
    ) -> Result<Vec<Result<Value, Failure>>, Failure> {
        let mut pipeline = Pipeline::new();
        for command in commands {
            pipeline.add_command(command);
        }
        if pipeline.is_empty() {
            return Ok(Vec::new());
        }
        let mut link = self.link.clone();
        let answer = link.req_packed_commands(&pipeline, 0, pipeline.len());
        let answer = time::timeout(self.response_timeout, answer).await;
        let answers = self.judge(answer, self.response_timeout)?.into_iter();
        let answers = answers.map(|answer| match answer {
            Value::ServerError(refusal) => Err(self.refused(refusal)),
            value => Ok(value),
        });
        Ok(answers.collect())
    }

    /// What the server says unasked, for whoever asks first.
    pub(crate) fn told(&self) -> Option<mpsc::UnboundedReceiver<PushInfo>> {
        self.link.told()
    }

    /// Has the connection replaced. What was sent on it may still be answered.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.broken.notify_one();
    }

    /// Waits until the connection has ended or is to be replaced.
    pub(crate) async fn over(&self) {
        tokio::select! {
            biased;
            () = self.link.ended() => {}
            () = self.broken.notified() => {}
        }
    }

    /// Whether nothing should be sent on it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Relaxed) || self.link.has_ended()
    }

    fn judge<T>(
        &self,
        answer: Result<RedisResult<T>, Elapsed>,
        timeout: Duration,
    ) -> Result<T, Failure> {
        let Ok(answer) = answer else {
            if self.unanswered.fetch_add(1, Ordering::Relaxed) + 1 >= SILENT_REQUESTS {
                self.give_up();
            }
            return Err(Failure::Silent(timeout));
        };
        self.unanswered.store(0, Ordering::Relaxed);
        answer.map_err(|error| match ServerError::try_from(error) {
            Ok(refusal) => self.refused(refusal),
            Err(error) => {
                // Whatever it was, the replies on this connection are in doubt.
                self.give_up();
                Failure::Cut(error)
            }
        })
    }

    fn refused(&self, refusal: ServerError) -> Failure {
        let failure = Failure::Refused(refusal);
        if failure.calls_for_another_server() {
            self.give_up();
        }
        failure
    }
}
