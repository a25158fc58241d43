//! Stores of once keys: each operation is one call of one script.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{
    Claim, Error, LAYOUT_VERSION, OnceCounts, OnceStore, QueueName, Result, Token, config_mismatch,
    limits,
};
use redis_link::{Client, Script, ScriptCall, error::is_wrong_type};

use crate::{keys::Keys, queue::Context, reply::Reply, scripts};

/// A store on its server.
///
/// Every claim carries the data that `open` writes, so claims also work after the server was flushed.
#[derive(Debug)]
pub(crate) struct Once {
    client: Client,
    name: QueueName,
    keys: Keys,
    config: String,
}

impl Once {
    /// Opens the store: checks that its keys are its own, and of this layout.
    pub(crate) async fn open(context: &Context, name: &QueueName) -> Result<Self> {
        let keys = Keys::of_once(&context.prefix, name);
        let store = Self {
            client: context.client.at(&keys.all()[0]),
            name: name.clone(),
            keys,
            config: format!("once layout={LAYOUT_VERSION}"),
        };
        let opened = store.try_open().await;
        opened.map_err(|error| store.name(error))?;
        Ok(store)
    }

    async fn try_open(&self) -> Result<()> {
        let mut call = self.client.prepare(&scripts::OPEN, self.keys.all());
        call.push(&self.config);
        call.push("");
        for kind in self.keys.types() {
            call.push(kind);
        }
        let reply = Reply::new(&scripts::OPEN, self.client.run(&call).await?);
        let mut reply = reply.by(&self.client);
        let stored = reply.text()?;
        if stored == self.config {
            return Ok(());
        }
        Err(config_mismatch("layout", stored, &self.config))
    }

    /// The server does not say which key holds a wrong type; opening the store does.
    async fn name_key(&self, error: Error) -> Error {
        match self.try_open().await {
            Err(named) if is_wrong_type(&named) => named.with_outcome(error.outcome()),
            _ => error,
        }
    }

    fn prepare(&self, script: &'static Script) -> ScriptCall {
        let keys = self.keys.of_every_call(self.client.is_clustered());
        self.client.prepare(script, keys).with(&self.config)
    }

    async fn run(&self, call: &ScriptCall) -> Result<Reply> {
        match self.client.run(call).await {
            Ok(value) => Ok(Reply::new(call.script(), value).by(&self.client)),
            Err(error) if is_wrong_type(&error) => Err(self.name(self.name_key(error).await)),
            Err(error) => Err(self.name(error)),
        }
    }

    /// Sends a call by a claim's holder.
    async fn run_held(&self, call: &ScriptCall) -> Result<()> {
        match self.run(call).await?.count()? {
            0 => Err(self.name(Error::claim_lost())),
            _ => Ok(()),
        }
    }

    /// Checks a key and a duration, and names the store in a refusal.
    fn checked<T>(&self, key: &[u8], rest: Result<T>) -> Result<T> {
        let checked = limits::check_key(key).and(rest);
        checked.map_err(|error| self.name(error))
    }

    fn name(&self, error: Error) -> Error {
        error.with_once(&self.name)
    }
}

#[async_trait]
impl OnceStore for Once {
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        let call = self.prepare(&scripts::ONCE_CLAIM);
        let mut reply = self.run(&call.with(key).with(claim_time)).await?;
        let (found, number) = (reply.count()?, reply.count()?);
        match found {
            0 => Ok(Claim::Claimed(Token::new(number))),
            1 => Ok(Claim::Busy {
                left: Duration::from_millis(number),
            }),
            2 => Ok(Claim::Done),
            _ => Err(reply.unexpected()),
        }
    }

    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        let call = self.prepare(&scripts::ONCE_EXTEND).with(key);
        self.run_held(&call.with(token.get()).with(claim_time))
            .await
    }

    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        let keep = self.checked(key, limits::keep_millis(keep))?;
        let call = self.prepare(&scripts::ONCE_FINISH).with(key);
        self.run_held(&call.with(token.get()).with(keep)).await
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        self.checked(key, Ok(()))?;
        let call = self.prepare(&scripts::ONCE_RELEASE).with(key);
        self.run_held(&call.with(token.get())).await
    }

    async fn counts(&self) -> Result<OnceCounts> {
        let mut reply = self.run(&self.prepare(&scripts::ONCE_COUNTS)).await?;
        Ok(OnceCounts::new(reply.count()?, reply.count()?))
    }
}
