//! The task that blocks on the markers and hands out what arrives.

use std::{
    convert::Infallible,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Error, ErrorKind, Result};
use redis::{Cmd, Value};
use tokio::time;

use super::board::{Arrival, Board};
use crate::{
    client::Client,
    connection::{Backoff, Channel, Connector, Dial, Role, Supervised, Timeouts, open},
    error::Failure,
};

/// The server answers a blocked connection after this time at the latest, with nothing: proof
/// that it is still there. Rarely, so that being idle costs next to nothing.
const BLOCK: Duration = Duration::from_secs(30);
/// The first pause before interrupting again a command that had not reached the server yet.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(1);
/// A command that has blocked for this long was not refused.
const ACCEPTED: Duration = Duration::from_millis(500);

/// Opens the waiter's connection.
#[derive(Debug)]
pub(super) struct Dialer {
    connector: Arc<dyn Connector>,
    timeouts: Timeouts,
    client_id: Arc<AtomicI64>,
}

impl Dialer {
    pub(super) fn new(connector: Arc<dyn Connector>, timeouts: Timeouts) -> Self {
        Self {
            connector,
            timeouts,
            client_id: Arc::default(),
        }
    }

    /// The server's number for the connection that was opened last.
    pub(super) fn client_id(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.client_id)
    }
}

#[async_trait]
impl Dial for Dialer {
    async fn dial(&self) -> Result<Channel> {
        let channel = open(&*self.connector, Role::Waiter, self.timeouts).await?;
        let mut command = redis::cmd("CLIENT");
        command.arg("ID");
        match channel.request(&command).await {
            Ok(Value::Int(id)) => {
                self.client_id.store(id, Ordering::Relaxed);
                Ok(channel)
            }
            Ok(other) => Err(Error::new(
                ErrorKind::Internal,
                format!("CLIENT ID answered {other:?}"),
            )),
            Err(failure) => Err(failure.into_error(&self.connector.address())),
        }
    }
}

/// Blocks on the markers, for as long as the task runs.
pub(super) struct Watch {
    pub(super) board: Arc<Board>,
    pub(super) connection: Supervised,
    pub(super) client: Client,
    pub(super) client_id: Arc<AtomicI64>,
    pub(super) response_timeout: Duration,
    pub(super) backoff: Backoff,
}

impl Watch {
    pub(super) async fn run(mut self) {
        let mut used: Option<Arc<Channel>> = None;
        loop {
            let markers = self.board.markers();
            if markers.is_empty() {
                self.put_back_or_wait().await;
                continue;
            }
            // The supervisor goes on trying, and knows why it fails.
            let Ok(channel) = self.connection.channel(self.response_timeout).await else {
                continue;
            };
            if used
                .as_ref()
                .is_some_and(|used| !Arc::ptr_eq(used, &channel))
            {
                self.board.wake_all();
            }
            let answer = self.block(&channel, &markers).await;
            if let Err(Failure::Silent(_)) = answer {
                // The server should have answered long ago.
                channel.give_up();
            }
            used = Some(channel);
            self.hand_out(answer).await;
        }
    }

    /// Blocks until a marker is armed, the time is up, or somebody waits for another marker.
    async fn block(&self, channel: &Channel, markers: &[Bytes]) -> Result<Value, Failure> {
        let command = pop_any(markers);
        let mut answer = pin!(channel.request_within(&command, BLOCK + self.response_timeout));
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            // Cut short whenever the answer comes: what was to be put back is still on the board.
            () = self.run_errands(markers) => {}
            never = self.forget_trouble() => match never {},
        }
        // It could not be interrupted: the server does not know the connection any more.
        channel.give_up();
        answer.await
    }

    async fn hand_out(&mut self, answer: Result<Value, Failure>) {
        let failure = match answer {
            Ok(value) => {
                self.backoff.reset();
                self.board.set_trouble(None);
                if let Some(arrival) = popped(value) {
                    self.board.arrive(arrival);
                }
                return;
            }
            Err(failure) => failure,
        };
        if let Failure::Refused(_) = &failure {
            // The connection is sound, and what the server minds may last: a marker of the wrong
            // type, a missing permission.
            let error = failure.into_error(self.client.address());
            self.board.set_trouble(Some(error));
            time::sleep(self.backoff.next_delay()).await;
        }
    }

    /// Puts arrivals back that found nobody, and interrupts the blocked command when somebody
    /// waits for another marker. Returns if that does not help.
    async fn run_errands(&self, markers: &[Bytes]) {
        loop {
            self.put_back().await;
            if self.board.wants_other_than(markers) {
                let patience = self.response_timeout;
                if time::timeout(patience, self.interrupt()).await.is_err() {
                    return;
                }
            }
            self.board.changed().await;
        }
    }

    /// A command that is refused is refused at once: one that blocks for a while was accepted.
    async fn forget_trouble(&self) -> Infallible {
        if self.board.trouble().is_some() {
            time::sleep(ACCEPTED).await;
            self.board.set_trouble(None);
        }
        std::future::pending().await
    }

    async fn put_back_or_wait(&self) {
        if !self.put_back().await {
            self.board.changed().await;
        }
    }

    /// Arms the markers again whose arrivals found nobody; answers whether there were any.
    async fn put_back(&self) -> bool {
        let mut any = false;
        while let Some(arrival) = self.board.unclaimed() {
            any = true;
            let mut command = redis::cmd("ZADD");
            command.arg(&*arrival.marker);
            command.arg(arrival.score).arg(&*arrival.member);
            // If it fails, the arrival is lost, and the fall-back interval stands in for it.
            let _ = self.client.command(&command).await;
            self.board.put_back(&arrival);
        }
        any
    }

    /// Ends the blocked command, over the other connection. Again and again, since it may get
    /// there before the command that it is to end.
    async fn interrupt(&self) -> Infallible {
        let mut pause = INTERRUPT_AGAIN;
        loop {
            let mut command = redis::cmd("CLIENT");
            command
                .arg("UNBLOCK")
                .arg(self.client_id.load(Ordering::Relaxed));
            let _ = self.client.command(&command).await;
            time::sleep(pause).await;
            pause *= 2;
        }
    }
}

fn pop_any(markers: &[Bytes]) -> Cmd {
    let mut command = redis::cmd("BZPOPMIN");
    for marker in markers {
        command.arg(&**marker);
    }
    command.arg(BLOCK.as_secs());
    command
}

/// `[marker, member, score]`, or nothing where the time was up.
fn popped(value: Value) -> Option<Arrival> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [marker, member, score] = <[Value; 3]>::try_from(parts).ok()?;
    let (Value::BulkString(marker), Value::BulkString(member)) = (marker, member) else {
        return None;
    };
    Some(Arrival {
        marker: marker.into(),
        member: member.into(),
        score: redis::from_redis_value(score).ok()?,
    })
}
