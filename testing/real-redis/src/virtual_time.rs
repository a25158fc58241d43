//! Connections to a real server in virtual time.

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

/// Connects to a server while tokio's clock is paused.
///
/// A paused clock jumps to the next timer when all tasks wait, also for a socket: a short answer would cost
/// seconds. So a command is one *blocking* round trip here, during which no time passes; no command may
/// block on the server. A connection that listens to a channel asks the server after each command whether
/// it has pushed something.
///
/// All connections of a test must come from clones of one client, or they miss each other's
/// messages. It needs a runtime of one thread.
#[derive(Clone)]
pub struct VirtualClient {
    client: Client,
    /// Notifies listening connections that a command has run.
    ran: Arc<Notify>,
}

impl VirtualClient {
    /// A client of the server at this URL.
    ///
    /// # Errors
    ///
    /// If the URL is malformed.
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
    /// If the server does not accept it.
    pub fn connect(&self) -> RedisResult<VirtualConnection> {
        Ok(self.wrap(self.client.get_connection()?))
    }

    /// A connection that may subscribe, and the server's pushes on it, with the confirmation of
    /// each subscription.
    ///
    /// # Errors
    ///
    /// If the server does not accept it.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn listen(&self) -> RedisResult<(VirtualConnection, UnboundedReceiver<PushInfo>)> {
        let mut connection = self.client.get_connection()?;
        let (said, hears) = std::sync::mpsc::channel();
        connection.set_push_sender(said);
        let connection = self.wrap(connection);
        let (pushes, received) = unbounded_channel();
        task::spawn(listen(Arc::downgrade(&connection.0), hears, pushes));
        Ok((connection, received))
    }

    fn wrap(&self, connection: Connection) -> VirtualConnection {
        VirtualConnection(Arc::new(VirtualTimeInner {
            connection: Mutex::new(connection),
            ran: Arc::clone(&self.ran),
        }))
    }
}

/// Passes on the server's pushes, until the connection is dropped.
async fn listen(
    inner: Weak<VirtualTimeInner>,
    hears: Receiver<PushInfo>,
    pushes: UnboundedSender<PushInfo>,
) {
    while let Some(inner) = inner.upgrade() {
        let ran = Arc::clone(&inner.ran);
        let ran = ran.notified();
        // Pushes come before the answer. A dead connection shows its error to its user.
        let _ = lock(&inner.connection).req_command(&redis::cmd("PING"));
        drop(inner);
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

/// A connection of a [`VirtualClient`]. Clones share it.
#[derive(Clone)]
pub struct VirtualConnection(Arc<VirtualTimeInner>);

impl fmt::Debug for VirtualConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualConnection").finish_non_exhaustive()
    }
}

struct VirtualTimeInner {
    connection: Mutex<Connection>,
    ran: Arc<Notify>,
}

impl VirtualTimeInner {
    /// Makes one round trip. No time passes, but other tasks may run before and after. So a future can be
    /// dropped before it has sent anything, or after the server has run the command.
    async fn pass<T>(&self, trip: impl FnOnce(&mut Connection) -> T) -> T {
        task::yield_now().await;
        let answer = trip(&mut lock(&self.connection));
        self.ran.notify_waiters();
        task::yield_now().await;
        answer
    }
}

impl Drop for VirtualTimeInner {
    fn drop(&mut self) {
        // A closed socket stays open in a child process that another test is starting. So the server closes the
        // connection, and counts no listener on it from its next command on. A dead connection needs no goodbye.
        let _ = lock(&self.connection).req_command(&redis::cmd("QUIT"));
        // The listening task ends.
        self.ran.notify_waiters();
    }
}

impl ConnectionLike for VirtualConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let trip = |connection: &mut Connection| {
            if command.args_iter().next() == Some(Arg::Simple(b"SUBSCRIBE")) {
                // The server confirms it by a push, and the crate would wait for a reply.
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

/// Ignores the poison: the panic itself is the failure to report.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
