//! Connects a backend where tokio's clock is paused, and changes or refuses what it sends.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use queue_redis::{Connector, Link, Role};
use real_redis::{VirtualClient, VirtualConnection};
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value, aio::ConnectionLike};

/// The fate of a command, or of several that are sent together.
pub(crate) enum Fate {
    Passes,
    /// The server runs the script with this hash in place of the one that is called.
    Calls(String),
    /// The server does nothing.
    Fails(RedisError),
}

/// Decides about each command, or about several that are sent together.
pub(crate) trait Meddler: Debug + Send + Sync + 'static {
    /// The script that is called, by its hash; `None` for any other command.
    fn fate(&self, called: Option<&str>) -> Fate;
}

#[derive(Debug)]
pub(crate) struct MeddledConnector<M> {
    client: VirtualClient,
    meddler: Arc<M>,
}

impl<M> MeddledConnector<M> {
    pub(crate) fn new(url: &str, meddler: Arc<M>) -> RedisResult<Self> {
        let client = VirtualClient::new(url)?;
        Ok(Self { client, meddler })
    }
}

#[async_trait]
impl<M: Meddler> Connector for MeddledConnector<M> {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        if role == Role::Waiter {
            let (connection, pushes) = self.client.listen()?;
            return Ok(Link::new(connection).with_pushes(pushes));
        }
        Ok(Link::new(Meddled {
            connection: self.client.connect()?,
            meddler: Arc::clone(&self.meddler),
        }))
    }

    fn address(&self) -> String {
        "a server in virtual time".to_owned()
    }
}

struct Meddled<M> {
    connection: VirtualConnection,
    meddler: Arc<M>,
}

impl<M> Clone for Meddled<M> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            meddler: Arc::clone(&self.meddler),
        }
    }
}

impl<M: Meddler> ConnectionLike for Meddled<M> {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self.meddler.fate(called(command).as_deref()) {
            Fate::Passes => self.connection.req_packed_command(command),
            Fate::Fails(error) => Box::pin(std::future::ready(Err(error))),
            Fate::Calls(hash) => {
                let mut changed = redis::cmd("EVALSHA");
                changed.arg(hash);
                for arg in command.args_iter().skip(2) {
                    if let Arg::Simple(arg) = arg {
                        changed.arg(arg);
                    }
                }
                Box::pin(async move { self.connection.req_packed_command(&changed).await })
            }
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self.meddler.fate(None) {
            Fate::Fails(error) => Box::pin(std::future::ready(Err(error))),
            _ => self.connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

fn called(command: &Cmd) -> Option<String> {
    let mut args = command.args_iter();
    match (args.next()?, args.next()?) {
        (Arg::Simple(b"EVALSHA"), Arg::Simple(hash)) => {
            Some(String::from_utf8_lossy(hash).into_owned())
        }
        _ => None,
    }
}
