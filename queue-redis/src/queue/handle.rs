//! A handle of any kind: its state, and how it calls scripts.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, MessageId, QueueKind, QueueName, Result};
use redis::{Cmd, Value};
use redis_link::{Client, Script, ScriptCall, ScriptOwner, Undone, error::is_wrong_type};

use super::{Context, config, confirmer::HandleConfirmer};
use crate::{keys::Keys, reply::Reply, waiting::Waiter};

/// One plain push out of this number clears away expired marks and abandoned staged bodies.
const CLEARS: u32 = 64;

/// A queue on its server.
#[derive(Debug)]
pub(crate) struct Handle {
    context: Context,
    client: Client,
    pub(crate) name: QueueName,
    pub(super) kind: QueueKind,
    keys: Keys,
    /// Waits for messages or items that are ready.
    pub(crate) arrivals: Waiter,
    /// Waits for room in a bounded queue.
    pub(crate) room: Waiter,
    pub(super) config: String,
    /// The number of attempts in this configuration; without limit on a ring.
    max_attempts: u32,
    pub(super) capacity: Option<usize>,
    /// Whether the handle leaves a queue that is gone as it is, instead of creating it.
    only_looks: bool,
    /// Whether this handle knows that dedup marks, times to live or large bodies concern its calls. It knows after it
    /// has pushed such messages, after a script asked for their keys, or after a ring showed it a large item. From then
    /// on it clears old marks away with each push.
    sends_all: AtomicBool,
    /// The number of plain pushes.
    plain_pushes: AtomicU32,
}

impl Handle {
    /// A handle to a queue that is not opened yet. Every call carries `config`; `capacity` is for bounded queues.
    pub(crate) fn new(
        context: &Context,
        name: &QueueName,
        kind: QueueKind,
        config: String,
        capacity: Option<usize>,
    ) -> Self {
        let keys = Keys::new(&context.prefix, name, kind);
        let client = context.client.at(keys.arrivals());
        Self {
            context: context.clone(),
            arrivals: Waiter::new(&client, name, keys.arrivals()),
            room: Waiter::new(&client, name, &keys.room()),
            client,
            name: name.clone(),
            kind,
            keys,
            max_attempts: config::max_attempts(&config),
            config,
            capacity,
            only_looks: false,
            sends_all: AtomicBool::new(false),
            plain_pushes: AtomicU32::new(0),
        }
    }

    /// The same handle for existing queues only: a queue that is gone is an error, and no call creates it again.
    pub(crate) fn that_only_looks(mut self) -> Self {
        self.only_looks = true;
        self
    }

    /// Begins a call of a script with the keys of the queue; [`run`](Self::run) sends it. While the handle knows of no
    /// dedup marks, times to live or large bodies, their keys are left out, because each key costs the server some
    /// time.
    pub(crate) fn prepare(&self, script: &'static Script) -> ScriptCall {
        self.begin(script, self.sends_all.load(Ordering::Relaxed), &self.config)
    }

    /// Begins a call with all keys but those of results, as [`prepare`](Self::prepare) does.
    pub(crate) fn prepare_with_attachments(&self, script: &'static Script) -> ScriptCall {
        self.begin(script, true, &self.config)
    }

    /// Begins a call that finds results, or stores those of these messages; it also sends the messages' end markers.
    pub(crate) fn prepare_with_results(
        &self,
        script: &'static Script,
        stored: impl Iterator<Item = MessageId>,
    ) -> ScriptCall {
        let markers = stored.map(|id| self.keys.end_marker(id));
        let keys: Vec<String> = self.keys.all().iter().cloned().chain(markers).collect();
        self.client.prepare(script, keys).with(&self.config)
    }

    /// Begins the call of a push; `all` if a message has a dedup key, a time to live or a large body. While the handle
    /// knows of none, one push in [`CLEARS`] clears away what dead producers have left.
    pub(crate) fn prepare_push(&self, script: &'static Script, all: bool) -> ScriptCall {
        if all {
            self.sends_all.store(true, Ordering::Relaxed);
        }
        let clears = || {
            let before = self.plain_pushes.fetch_add(1, Ordering::Relaxed);
            before.is_multiple_of(CLEARS)
        };
        let all = self.sends_all.load(Ordering::Relaxed) || clears();
        self.begin(script, all, &self.config)
    }

    fn begin(&self, script: &'static Script, all: bool, config: &str) -> ScriptCall {
        let keys = match all {
            true => self.keys.without_results(),
            false => self.keys.of_every_call(self.client.is_clustered()),
        };
        self.client.prepare(script, keys).with(config)
    }

    /// Begins the same call again, at the present time.
    pub(super) fn prepare_again(&self, call: &ScriptCall) -> ScriptCall {
        let all = self.has_all_keys(call) || self.sends_all.load(Ordering::Relaxed);
        self.again(call, all, &self.config)
    }

    fn again(&self, call: &ScriptCall, all: bool, config: &str) -> ScriptCall {
        let mut again = match call.keys() > self.keys.without_results().len() {
            true => {
                let keys: Vec<&[u8]> = call.key_names().collect();
                self.client.prepare(call.script(), keys).with(config)
            }
            false => self.begin(call.script(), all, config),
        };
        // The time and the configuration come first.
        again.push_arguments_of(call, 3);
        again
    }

    fn has_all_keys(&self, call: &ScriptCall) -> bool {
        call.keys() >= self.keys.without_results().len()
    }

    /// Has the calls of this handle look for abandoned staged bodies from now on, because the queue has large bodies.
    pub(crate) fn expect_large_bodies(&self) {
        self.sends_all.store(true, Ordering::Relaxed);
    }

    /// Sends a call, and creates the queue again if it is gone.
    pub(crate) async fn run(&self, call: &ScriptCall) -> Result<Reply> {
        let reply = self.run_if_there(call).await?;
        reply.ok_or_else(|| {
            let gone = Error::new(ErrorKind::Configuration, "the queue is gone");
            self.name(gone)
        })
    }

    /// Sends a call, as [`run`](Self::run) does; `None` if the queue is gone and the handle does not create it.
    pub(crate) async fn run_if_there(&self, call: &ScriptCall) -> Result<Option<Reply>> {
        let mut creating = Creating {
            handle: self,
            config: Cow::Borrowed(&self.config),
        };
        match self.client.run_amended(call, &mut creating).await {
            Ok(Some(Value::Nil)) if self.only_looks => Ok(None),
            Ok(Some(value)) => {
                let reply = Reply::new(call.script(), value).by(&self.client);
                Ok(Some(reply.of(&self.name)))
            }
            Ok(None) => Err(self.name(Error::new(
                ErrorKind::Unavailable,
                "the queue vanishes as soon as it is created: somebody keeps flushing the server, or \
                 removing the queue",
            ))),
            Err(error) if is_wrong_type(&error) => Err(self.name(self.name_key(error).await)),
            Err(error) => Err(self.name(error)),
        }
    }

    /// Sends plain commands in one round trip, not as a transaction; the first that fails is the error.
    pub(crate) async fn send(&self, commands: Vec<Cmd>) -> Result<Vec<Value>> {
        let answers = self.client.pipeline(commands).await;
        let answers = answers.and_then(|answers| answers.into_iter().collect());
        match answers {
            Err(error) if is_wrong_type(&error) => Err(self.name(self.name_key(error).await)),
            answers => answers.map_err(|error| self.name(error)),
        }
    }

    /// The confirmer of this handle's calls, if the handle was opened for confirmed calls.
    pub(crate) fn confirmer(&self) -> Option<Arc<dyn queue_core::Confirmer>> {
        if !self.client.confirms() {
            return None;
        }
        Some(Arc::new(HandleConfirmer {
            client: self.client.clone(),
            key: self.keys.confirm().into(),
        }))
    }

    /// The number of attempts by the configuration that this handle was opened with.
    pub(crate) const fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The configuration that every call carries.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    /// Names the queue in an error of this handle.
    pub(crate) fn name(&self, error: Error) -> Error {
        error.with_queue(&self.name)
    }

    /// Waits until a call can expect a reply; an error means that there will never be one.
    pub(crate) async fn ready(&self) -> Result<()> {
        let ready = self.client.ready().await;
        ready.map_err(|error| self.name(error))
    }

    /// The error for a call that could not be sent in time.
    pub(crate) fn unsent(&self) -> Error {
        self.name(self.client.unsent())
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) const fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }
}

/// The owner of a handle's scripts: it creates the queue again if the queue is gone, and lists it if it is not listed.
struct Creating<'a> {
    handle: &'a Handle,
    /// The configuration that the next call carries.
    config: Cow<'a, str>,
}

#[async_trait]
impl ScriptOwner for Creating<'_> {
    fn undone(&self, call: &ScriptCall, reply: &Value) -> Option<Undone> {
        match reply {
            // The server was flushed, or somebody removed the queue.
            Value::Nil if !self.handle.only_looks => Some(Undone::Missing),
            // A message has data that ends with it, so the script did nothing without the keys of that data.
            Value::SimpleString(status) if status == "KEYS" => {
                (!self.handle.has_all_keys(call)).then_some(Undone::Incomplete)
            }
            reply => unlisted(reply).map(|_| Undone::Incomplete),
        }
    }

    async fn amend(&mut self, call: &ScriptCall, reply: &Value) -> Result<ScriptCall> {
        let handle = self.handle;
        let mut all = handle.has_all_keys(call);
        if *reply == Value::Nil {
            handle.arrivals.forget();
            drop(handle.open().await?);
        } else if let Some(token) = unlisted(reply) {
            // The caller that created the queue was dropped, or is about to list it. If the list cannot be written
            // now, the queue still works.
            if handle.list(token).await.is_err() {
                self.config = Cow::Owned(config::marked(&handle.config, token));
            }
        } else {
            handle.sends_all.store(true, Ordering::Relaxed);
            all = true;
        }
        Ok(handle.again(call, all, &self.config))
    }
}

/// The token of the mark that keeps a script from doing anything.
fn unlisted(value: &Value) -> Option<&str> {
    match value {
        Value::SimpleString(status) => status.strip_prefix("UNLISTED "),
        _ => None,
    }
}
