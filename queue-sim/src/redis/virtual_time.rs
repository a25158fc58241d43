//! A real server in virtual time.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc::Receiver},
};

use async_trait::async_trait;
use queue_redis::{Connector, Link, Role};
use redis::{
    Arg, Client, Cmd, Connection, ConnectionLike as _, IntoConnectionInfo, Pipeline,
    ProtocolVersion, PushInfo, RedisFuture, RedisResult, Value, aio::ConnectionLike,
};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedSender, unbounded_channel},
    },
    task,
};

/// Connects to a server in such a way that tokio's clock can be paused.
///
/// A paused clock leaps to the next timer whenever all tasks wait, also when they wait for a
/// socket: an answer that takes a moment would cost seconds. So a command is one *blocking* round
/// trip here, during which no time passes; none may block on the server. Whoever listens to a
/// channel asks the server after each command whether it has said something.
///
/// All clients of a test must connect through clones of one connector, or they do not hear each
/// other. It needs a runtime of one thread.
#[derive(Clone)]
pub struct VirtualConnector {
    client: Client,
    /// A command was run: who listens asks.
    ran: Arc<Notify>,
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
            ran: Arc::default(),
        })
    }
}

#[async_trait]
impl Connector for VirtualConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let mut connection = self.client.get_connection()?;
        let (said, hears) = std::sync::mpsc::channel();
        let listens = role == Role::Waiter;
        if listens {
            connection.set_push_sender(said);
        }
        let wire = Arc::new(Wire {
            connection: Mutex::new(connection),
            ran: Arc::clone(&self.ran),
        });
        let (pushes, told) = unbounded_channel();
        if listens {
            task::spawn(listen(Arc::downgrade(&wire), hears, pushes));
        }
        Ok(Link::new(VirtualWire(wire)).told_by(told))
    }

    fn address(&self) -> String {
        format!(
            "{} in virtual time",
            self.client.get_connection_info().addr()
        )
    }
}

/// Passes on what the server says unasked, until the connection is dropped.
async fn listen(wire: Weak<Wire>, hears: Receiver<PushInfo>, pushes: UnboundedSender<PushInfo>) {
    while let Some(wire) = wire.upgrade() {
        let ran = Arc::clone(&wire.ran);
        let ran = ran.notified();
        // What it has said comes before its answer. A dead connection is told to whoever uses it.
        let _ = lock(&wire.connection).req_command(&redis::cmd("PING"));
        drop(wire);
        while let Ok(said) = hears.try_recv() {
            if pushes.send(said).is_err() {
                return;
            }
        }
        ran.await;
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
    ran: Arc<Notify>,
}

impl Wire {
    /// One round trip. No time passes, but others may run before and after: so a future can be
    /// dropped before it sent anything, or after the server has run it.
    async fn pass<T>(&self, trip: impl FnOnce(&mut Connection) -> T) -> T {
        task::yield_now().await;
        let answer = trip(&mut lock(&self.connection));
        self.ran.notify_waiters();
        task::yield_now().await;
        answer
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Whoever listens on it ends.
        self.ran.notify_waiters();
    }
}

impl ConnectionLike for VirtualWire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let trip = |connection: &mut Connection| {
            if command.args_iter().next() == Some(Arg::Simple(b"SUBSCRIBE")) {
                // It is confirmed by a push, and the crate waits for something else.
                connection.send_packed_command(&command.get_packed_command())?;
                return connection.recv_response();
            }
            connection.req_command(command)
        };
        Box::pin(self.0.pass(trip))
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

/// A panic elsewhere is the failure to report, not the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
