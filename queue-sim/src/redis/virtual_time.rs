//! A real server in virtual time.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_redis::{Connector, Link, Role};
use redis::{
    Arg, Client, Cmd, Connection, ConnectionLike as _, IntoConnectionInfo, Pipeline,
    ProtocolVersion, RedisFuture, RedisResult, Value, aio::ConnectionLike,
};
use tokio::{sync::Notify, task, time};

/// Connects to a server in such a way that tokio's clock can be paused.
///
/// A paused clock leaps to the next timer whenever all tasks wait, also when they wait for a
/// socket: an answer that takes a moment would cost seconds. So a command is one *blocking* round
/// trip here, during which no time passes. Only `BZPOPMIN` may block; it is played as `ZPOPMIN`
/// after every command that passes, until it finds something, its timeout is over in virtual
/// time, or `CLIENT UNBLOCK` ends it.
///
/// All clients of a test must connect through clones of one connector, or they do not wake each
/// other. It needs a runtime of one thread.
#[derive(Clone)]
pub struct VirtualConnector {
    client: Client,
    shared: Arc<Shared>,
}

/// What the connections of a test have in common.
#[derive(Default)]
struct Shared {
    /// A command was run: what is blocked looks again.
    ran: Notify,
    blocked: Mutex<BTreeMap<i64, Arc<Block>>>,
}

/// A connection that can be blocked.
#[derive(Default)]
struct Block {
    blocked: AtomicBool,
    unblock: Notify,
}

impl VirtualConnector {
    /// Connects to the server at this URL.
    ///
    /// # Errors
    ///
    /// If the URL is not understood.
    pub fn new(url: &str) -> RedisResult<Self> {
        let info = url.into_connection_info()?;
        let settings = info.redis_settings().clone();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        Ok(Self {
            client: Client::open(info.set_redis_settings(settings))?,
            shared: Arc::default(),
        })
    }
}

#[async_trait]
impl Connector for VirtualConnector {
    async fn connect(&self, _role: Role) -> RedisResult<Link> {
        let mut connection = self.client.get_connection()?;
        let id = redis::cmd("CLIENT").arg("ID").query(&mut connection)?;
        let block = Arc::new(Block::default());
        lock(&self.shared.blocked).insert(id, Arc::clone(&block));
        Ok(Link::new(VirtualWire(Arc::new(Wire {
            connection: Mutex::new(connection),
            id,
            block,
            shared: Arc::clone(&self.shared),
        }))))
    }

    fn address(&self) -> String {
        format!(
            "{} in virtual time",
            self.client.get_connection_info().addr()
        )
    }
}

impl fmt::Debug for VirtualConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VirtualConnector")
            .field(&self.address())
            .finish()
    }
}

#[derive(Clone)]
struct VirtualWire(Arc<Wire>);

struct Wire {
    connection: Mutex<Connection>,
    id: i64,
    block: Arc<Block>,
    shared: Arc<Shared>,
}

impl Wire {
    /// One round trip. No time passes, but others may run before and after: so a future can be
    /// dropped before it sent anything, or after the server has run it.
    async fn pass<T>(&self, trip: impl FnOnce(&mut Connection) -> T) -> T {
        task::yield_now().await;
        let answer = trip(&mut lock(&self.connection));
        self.shared.ran.notify_waiters();
        task::yield_now().await;
        answer
    }

    async fn command(&self, command: &Cmd) -> RedisResult<Value> {
        let words = words(command);
        match words.first().copied() {
            Some(b"BZPOPMIN") => self.blocking_pop(&words).await,
            Some(b"CLIENT") if words.get(1) == Some(&&b"UNBLOCK"[..]) => {
                task::yield_now().await;
                let id = words.get(2).and_then(|id| number(id));
                let ended = id.is_some_and(|id: i64| self.shared.unblock(id));
                Ok(Value::Int(ended.into()))
            }
            _ => {
                self.pass(|connection| connection.req_command(command))
                    .await
            }
        }
    }

    /// `BZPOPMIN key … timeout`, with a timeout in seconds, or zero for none.
    async fn blocking_pop(&self, words: &[&[u8]]) -> RedisResult<Value> {
        let [_, keys @ .., timeout] = words else {
            return Err((redis::ErrorKind::Client, "BZPOPMIN without a timeout").into());
        };
        let timeout = match number::<f64>(timeout) {
            Some(0.0) | None => Duration::MAX,
            Some(seconds) => Duration::from_secs_f64(seconds),
        };
        let _blocked = Blocked::on(&self.block);
        let popped = async {
            loop {
                let ran = self.shared.ran.notified();
                if let Some(popped) = self.pop(keys)? {
                    return Ok(popped);
                }
                ran.await;
            }
        };
        tokio::select! {
            biased;
            () = self.block.unblock.notified() => Ok(Value::Nil),
            popped = popped => popped,
            () = time::sleep(timeout) => Ok(Value::Nil),
        }
    }

    fn pop(&self, keys: &[&[u8]]) -> RedisResult<Option<Value>> {
        for key in keys {
            let pop = redis::cmd("ZPOPMIN").arg(*key).to_owned();
            let popped = lock(&self.connection).req_command(&pop)?;
            if let Value::Array(mut popped) = popped
                && !popped.is_empty()
            {
                popped.insert(0, Value::BulkString(key.to_vec()));
                return Ok(Some(Value::Array(popped)));
            }
        }
        Ok(None)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        lock(&self.shared.blocked).remove(&self.id);
    }
}

impl Shared {
    /// Ends what this connection is blocked in, if it is.
    fn unblock(&self, id: i64) -> bool {
        match lock(&self.blocked).get(&id) {
            Some(block) if block.blocked.load(Ordering::SeqCst) => {
                block.unblock.notify_waiters();
                true
            }
            _ => false,
        }
    }
}

/// Says that a connection is blocked, for as long as this lives.
struct Blocked<'a>(&'a Block);

impl<'a> Blocked<'a> {
    fn on(block: &'a Block) -> Self {
        block.blocked.store(true, Ordering::SeqCst);
        Self(block)
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.blocked.store(false, Ordering::SeqCst);
    }
}

impl ConnectionLike for VirtualWire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.0.command(command))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let packed = pipeline.get_packed_pipeline();
        let trip = move |connection: &mut Connection| {
            connection.req_packed_commands(&packed, offset, count)
        };
        Box::pin(self.0.pass(trip))
    }

    fn get_db(&self) -> i64 {
        lock(&self.0.connection).get_db()
    }
}

fn words(command: &Cmd) -> Vec<&[u8]> {
    let words = command.args_iter().filter_map(|arg| match arg {
        Arg::Simple(word) => Some(word),
        _ => None,
    });
    words.collect()
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A panic elsewhere is the failure to report, not the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
