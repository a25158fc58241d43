//! A real server in virtual time.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc::Receiver},
};

use redis::{
    Arg, Client, Cmd, Connection, ConnectionLike as _, IntoConnectionInfo, Pipeline,
    ProtocolVersion, PushInfo, RedisFuture, RedisResult, Value, aio::ConnectionLike,
};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
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
/// All connections of a test must come from clones of one client, or they do not hear each other. It
/// needs a runtime of one thread.
#[derive(Clone)]
pub struct VirtualClient {
    client: Client,
    /// A command was run: who listens asks.
    ran: Arc<Notify>,
}

impl VirtualClient {
    /// A client of the server at this URL.
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

    /// A connection for commands.
    ///
    /// # Errors
    ///
    /// If the server does not take it.
    pub fn connect(&self) -> RedisResult<VirtualConnection> {
        Ok(self.wire(self.client.get_connection()?))
    }

    /// A connection that may subscribe, and what the server says on it unasked, the confirmation of
    /// each subscription included.
    ///
    /// # Errors
    ///
    /// If the server does not take it.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn listen(&self) -> RedisResult<(VirtualConnection, UnboundedReceiver<PushInfo>)> {
        let mut connection = self.client.get_connection()?;
        let (said, hears) = std::sync::mpsc::channel();
        connection.set_push_sender(said);
        let connection = self.wire(connection);
        let (pushes, told) = unbounded_channel();
        task::spawn(listen(Arc::downgrade(&connection.0), hears, pushes));
        Ok((connection, told))
    }

    fn wire(&self, connection: Connection) -> VirtualConnection {
        VirtualConnection(Arc::new(Wire {
            connection: Mutex::new(connection),
            ran: Arc::clone(&self.ran),
        }))
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

impl fmt::Debug for VirtualClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VirtualClient")
            .field(self.client.get_connection_info().addr())
            .finish()
    }
}

/// One that a [`VirtualClient`] has opened. Clones are the same connection.
#[derive(Clone)]
pub struct VirtualConnection(Arc<Wire>);

impl fmt::Debug for VirtualConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualConnection").finish_non_exhaustive()
    }
}

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

impl ConnectionLike for VirtualConnection {
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
