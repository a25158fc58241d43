use std::{
    future::Future,
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Error, ErrorKind, in_millis};
use redis::{Cmd, Pipeline, PushInfo, RedisResult, ServerError, Value, aio::ConnectionLike};
use tokio::{
    sync::{Notify, mpsc},
    time::{self, Instant},
};

use super::{Link, reply_sync::ReplySync};
use crate::error::Failure;

/// After this many requests in a row without a reply, the channel assumes that its connection is half-open and has it
/// replaced. A single one may mean a slow server, which a reconnect would only burden further.
const SILENT_REQUESTS: u32 = 2;

/// An open connection in use: sends requests, and notices when it should be replaced.
#[derive(Debug)]
pub struct Channel {
    link: Link,
    opened: Instant,
    response_timeout: Duration,
    /// Requests in a row without a reply.
    unanswered: AtomicU32,
    /// Requests that got a reply.
    answered: AtomicU64,
    /// The time until which a request may have the server wait, or had it wait.
    held_up: Mutex<Instant>,
    reply_sync: ReplySync,
    given_up: AtomicBool,
    /// Notified when the connection falls silent, responds again or is given up.
    changed: Notify,
}

impl Channel {
    /// A channel over this link. `response_timeout` is how long the server may be silent.
    pub fn new(link: Link, response_timeout: Duration) -> Self {
        let opened = Instant::now();
        Self {
            link,
            opened,
            response_timeout,
            unanswered: AtomicU32::new(0),
            answered: AtomicU64::new(0),
            held_up: Mutex::new(opened),
            reply_sync: ReplySync::default(),
            given_up: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// Sends one command and waits for its reply.
    ///
    /// Fails when the server has been silent for the response timeout.
    pub async fn request(&self, command: &Cmd) -> Result<Value, Failure> {
        self.request_since(Instant::now(), command).await
    }

    /// [`request`](Self::request) for a caller that has waited since `made`.
    pub async fn request_since(&self, made: Instant, command: &Cmd) -> Result<Value, Failure> {
        let answer = self.ask(made, command).await;
        self.in_sync().await?;
        answer
    }

    /// Sends commands in one round trip, and returns the first error among their replies.
    pub async fn request_all(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
    ) -> Result<(), Failure> {
        let answers = self.request_each(commands).await?;
        answers.into_iter().try_for_each(|answer| answer.map(drop))
    }

    /// Sends commands in one round trip; each has its own reply.
    pub async fn request_each(
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
        let answers = self.hear(Instant::now(), answer).await;
        self.in_sync().await?;
        let answers = answers?.into_iter().map(|answer| match answer {
            Value::ServerError(refusal) => Err(self.refused(refusal)),
            value => Ok(value),
        });
        Ok(answers.collect())
    }

    /// [`request_each`](Self::request_each) for commands that have the server wait up to `within`. During the wait the
    /// server replies to nothing else on this connection, so the silence of all requests counts from its end.
    pub async fn request_wait(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
        within: Duration,
    ) -> Result<Vec<Result<Value, Failure>>, Failure> {
        let until = {
            let mut held_up = self.lock_held_up();
            // The server begins this wait after the previous one has ended.
            *held_up = Instant::now().max(*held_up) + within;
            *held_up
        };
        let answers = self.request_each(commands).await;
        let mut held_up = self.lock_held_up();
        // A later wait may be in progress. A wait whose caller was dropped ends at its timeout.
        if *held_up == until {
            *held_up = Instant::now();
        }
        drop(held_up);
        answers
    }

    /// The time until which the server may not reply, or did not, because it waits for something.
    pub fn held_up(&self) -> Instant {
        *self.lock_held_up()
    }

    fn lock_held_up(&self) -> MutexGuard<'_, Instant> {
        // No code panics while it holds this lock.
        self.held_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's pushes (messages that it sends unasked), for the first caller that asks.
    pub fn take_pushes(&self) -> Option<mpsc::UnboundedReceiver<PushInfo>> {
        self.link.take_pushes()
    }

    /// Sends a request with a unique reply. If there is no sign of life, or another request's reply comes, the
    /// connection is replaced.
    pub(super) async fn test(&self) {
        let test = self.reply_sync.test();
        let reply = self.ask(Instant::now(), &test.command).await;
        if !self.reply_sync.judge(&test, reply.as_ref().ok()) {
            self.give_up();
            // The requests in progress would get other requests' replies, or wait for a dropped one.
            self.link.cut();
        }
    }

    /// Has the connection tested, because a reply did not fit its request. Until the test has ended, no call on the
    /// connection returns.
    pub fn mark_suspect(&self) {
        self.reply_sync.mark_suspect();
    }

    /// Waits until somebody doubts the connection.
    pub(super) async fn suspected(&self) {
        self.reply_sync.suspected().await;
    }

    /// Has the connection replaced. Requests in progress on it may still get replies.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until the connection has ended or is to be replaced.
    pub async fn over(&self) {
        tokio::select! {
            biased;
            () = self.link.ended() => {}
            () = self.becomes(|| self.given_up.load(Ordering::Acquire)) => {}
        }
    }

    /// Whether callers should send nothing more on this connection.
    pub fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Acquire) || self.link.has_ended()
    }

    /// The reason why the connection is over, for callers that wait for the next one.
    pub(super) fn why_over(&self) -> Error {
        let reason = if self.reply_sync.is_lost() {
            "answered requests with other requests' replies".to_owned()
        } else if self.is_silent() {
            format!("did not answer within {}", in_millis(self.response_timeout))
        } else if self.link.has_ended() {
            "was closed".to_owned()
        } else {
            "was given up".to_owned()
        };
        Error::new(
            ErrorKind::Unavailable,
            format!("the connection {reason}; another is being opened"),
        )
    }

    /// The number of requests that have a reply by now.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Acquire)
    }

    /// Whether the last request got no reply, so that the next one may get none, either.
    pub fn is_silent(&self) -> bool {
        self.unanswered.load(Ordering::Acquire) > 0
    }

    /// Waits until a request gets no reply.
    pub(super) async fn silent(&self) {
        self.becomes(|| self.is_silent()).await;
    }

    /// Waits until the server has been silent for `time`. On a connection whose bytes are not counted, this may take up
    /// to twice the time.
    pub(super) async fn idle(&self, time: Duration) {
        let (mut since, mut answered) = (Instant::now(), self.answered());
        loop {
            time::sleep_until(since + time).await;
            let heard = match self.link.last_progress() {
                Some(progress) => progress,
                None if self.answered() == answered => since,
                None => Instant::now(),
            };
            if heard <= since {
                return;
            }
            (since, answered) = (heard, self.answered());
        }
    }

    /// Waits until a request gets a reply again, or the connection is over.
    pub async fn heard_or_over(&self) {
        tokio::select! {
            biased;
            () = self.over() => {}
            () = self.becomes(|| !self.is_silent()) => {}
        }
    }

    async fn becomes(&self, holds: impl Fn() -> bool) {
        loop {
            // Created before the check, so no change after the check is missed.
            let changed = self.changed.notified();
            if holds() {
                return;
            }
            changed.await;
        }
    }

    /// Sends one command and waits for its reply, even if the connection is doubted.
    async fn ask(&self, made: Instant, command: &Cmd) -> Result<Value, Failure> {
        let mut link = self.link.clone();
        let answer = link.req_packed_command(command);
        match self.hear(made, answer).await? {
            Value::ServerError(refusal) => Err(self.refused(refusal)),
            value => Ok(value),
        }
    }

    /// Fails if a received reply may belong to another request. While the connection is doubted, waits for its test.
    async fn in_sync(&self) -> Result<(), Failure> {
        if self.reply_sync.is_sure() {
            return Ok(());
        }
        let settled = async {
            tokio::select! {
                biased;
                () = self.reply_sync.settled() => {}
                () = self.over() => {}
            }
        };
        // The wait is bounded, because nobody tests the connection once the supervisor's runtime has ended.
        let begin = Instant::now().max(self.held_up());
        let _ = time::timeout_at(begin + self.response_timeout, settled).await;
        if self.reply_sync.is_sure() {
            return Ok(());
        }
        Err(Failure::OutOfStep)
    }

    /// Waits for a reply until the server has been silent for the response timeout.
    ///
    /// The silence counts from the call, or from the end of a wait that delays the server. Replies come in the order of
    /// requests, so every byte that arrives brings this reply nearer.
    async fn hear<T>(
        &self,
        made: Instant,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, Failure> {
        let mut answer = pin!(answer);
        let mut since = made.max(self.opened);
        loop {
            if let Ok(answer) = time::timeout_at(since + self.response_timeout, &mut answer).await {
                return self.judge(answer);
            }
            match self.link.last_progress().max(Some(self.held_up())) {
                Some(later) if later > since => since = later,
                _ => return Err(self.unheard()),
            }
        }
    }

    fn unheard(&self) -> Failure {
        if self.unanswered.fetch_add(1, Ordering::AcqRel) + 1 >= SILENT_REQUESTS {
            self.give_up();
        } else {
            self.changed.notify_waiters();
        }
        Failure::Silent(self.response_timeout)
    }

    fn judge<T>(&self, answer: RedisResult<T>) -> Result<T, Failure> {
        self.answered.fetch_add(1, Ordering::AcqRel);
        if self.is_silent() {
            self.unanswered.store(0, Ordering::Release);
            self.changed.notify_waiters();
        }
        answer.map_err(|error| match ServerError::try_from(error) {
            Ok(refusal) => self.refused(refusal),
            Err(error) => {
                // After any such error, the replies on this connection cannot be trusted.
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
