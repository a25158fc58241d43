//! Destructive pops, made by tasks of the handle.
//!
//! A popped entry exists only in the reply. So tasks of the handle make the pops, not the caller's future, and keep
//! popped entries for the next take. A dropped call or wait then loses nothing. A process that dies loses them, as a
//! published consumer does.

use std::{
    collections::VecDeque,
    fmt::{self, Debug},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::{Error, ErrorKind, Outcome, Result, Running};
use redis::{Cmd, Value, aio::ConnectionLike};
use redis_link::connection::Link;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::{self, Instant},
};

use crate::server::Connection;

/// The pause after a failed pop.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

type Pop<T> = Pin<Box<dyn Future<Output = Result<Vec<T>>> + Send>>;

/// The pops of a handle.
pub(crate) struct Pops<T> {
    server: Connection,
    shared: Arc<PopState<T>>,
    pops: mpsc::UnboundedSender<(Pop<T>, oneshot::Sender<Result<()>>)>,
    blocking: OnceLock<Running>,
    pop: BlockingPop<T>,
    _taking: Running,
}

/// A pop that blocks until there is an entry.
#[derive(Debug)]
pub(crate) struct BlockingPop<T> {
    /// The command without its last argument, the time to block.
    pub(crate) command: Cmd,
    pub(crate) longest: Duration,
    pub(crate) read: fn(Value) -> Result<T>,
}

impl<T> Clone for BlockingPop<T> {
    fn clone(&self) -> Self {
        Self {
            command: self.command.clone(),
            ..*self
        }
    }
}

struct PopState<T> {
    popped: Mutex<VecDeque<T>>,
    waiting: AtomicUsize,
    /// Notified when somebody begins to wait.
    wanted: Notify,
    /// Notified when an entry was popped.
    arrived: Notify,
}

impl<T: Send + 'static> Pops<T> {
    pub(crate) fn new(server: &Connection, pop: BlockingPop<T>) -> Self {
        let shared = Arc::new(PopState {
            popped: Mutex::default(),
            waiting: AtomicUsize::new(0),
            wanted: Notify::new(),
            arrived: Notify::new(),
        });
        let (pops, queue) = mpsc::unbounded_channel();
        let taking = take_each(Arc::clone(&shared), queue);
        Self {
            server: server.clone(),
            shared,
            pops,
            blocking: OnceLock::new(),
            pop,
            _taking: server.spawn().spawn(Box::pin(taking)),
        }
    }

    /// Takes up to `max` entries that are popped already, or else entries that `pop` gets.
    pub(crate) async fn take(
        &self,
        max: usize,
        pop: impl Future<Output = Result<Vec<T>>> + Send + 'static,
    ) -> Result<Vec<T>> {
        if self.shared.popped().is_empty() {
            let (done, ended) = oneshot::channel();
            if self.pops.send((Box::pin(pop), done)).is_err() {
                return Err(stopped());
            }
            ended.await.map_err(|_| stopped())??;
        }
        let mut popped = self.shared.popped();
        let most = max.min(popped.len());
        Ok(popped.drain(..most).collect())
    }

    /// Forgets popped entries, for a strategy that finds them again on the server.
    pub(crate) fn forget(&self) {
        self.shared.popped().clear();
    }

    /// Waits until an entry is popped, up to `timeout`.
    pub(crate) async fn wait(&self, timeout: Duration) -> Result<()> {
        let shared = &self.shared;
        self.blocking.get_or_init(|| {
            let blocking = block(self.server.clone(), self.pop.clone(), Arc::clone(shared));
            self.server.spawn().spawn(Box::pin(blocking))
        });
        let _waiting = WaitingPop::begin(shared);
        let deadline = Instant::now() + timeout.min(LONGEST_WAIT);
        loop {
            let arrived = shared.arrived.notified();
            if !shared.popped().is_empty() {
                return Ok(());
            }
            if time::timeout_at(deadline, arrived).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Makes the pops for takes, one after another.
async fn take_each<T>(
    shared: Arc<PopState<T>>,
    mut queue: mpsc::UnboundedReceiver<(Pop<T>, oneshot::Sender<Result<()>>)>,
) {
    while let Some((pop, done)) = queue.recv().await {
        let popped = pop.await;
        // If the caller is gone, the next one takes the popped entries.
        let _ = done.send(popped.map(|popped| shared.add(popped)));
    }
}

/// Pops while somebody waits. Survives every error.
async fn block<T: Send + 'static>(
    server: Connection,
    pop: BlockingPop<T>,
    shared: Arc<PopState<T>>,
) {
    let (mut command, longest) = (pop.command, pop.longest);
    match longest.subsec_nanos() {
        0 => command.arg(longest.as_secs()),
        _ => command.arg(longest.as_secs_f64()),
    };
    let mut link = None;
    loop {
        let wanted = shared.wanted.notified();
        // The popped entries must be taken first: a handle must not hoard entries that others could take.
        let waits = shared.waiting.load(Ordering::Acquire) > 0;
        if !waits || !shared.popped().is_empty() {
            wanted.await;
            continue;
        }
        match pop_once(&server, &command, longest, &mut link).await {
            Some(Value::Nil) => {}
            Some(value) => {
                if let Ok(popped) = (pop.read)(value) {
                    shared.add([popped]);
                }
            }
            None => {
                link = None;
                time::sleep(AGAIN).await;
            }
        }
    }
}

/// Sends a blocking pop; `None` if there was no reply, or an error.
async fn pop_once(
    server: &Connection,
    command: &Cmd,
    longest: Duration,
    link: &mut Option<Link>,
) -> Option<Value> {
    if link.is_none() {
        *link = server.connect().await;
    }
    let answer = link.as_mut()?.req_packed_command(command);
    let patience = longest.saturating_add(server.response_timeout());
    match time::timeout(patience, answer).await.ok()?.ok()? {
        Value::ServerError(_) => None,
        value => Some(value),
    }
}

impl<T> PopState<T> {
    fn popped(&self) -> MutexGuard<'_, VecDeque<T>> {
        // No code panics while it holds this lock.
        self.popped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, popped: impl IntoIterator<Item = T>) {
        self.popped().extend(popped);
        self.arrived.notify_waiters();
    }
}

/// A caller that waits, until this is dropped.
struct WaitingPop<'a, T>(&'a PopState<T>);

impl<'a, T> WaitingPop<'a, T> {
    fn begin(shared: &'a PopState<T>) -> Self {
        shared.waiting.fetch_add(1, Ordering::AcqRel);
        shared.wanted.notify_one();
        Self(shared)
    }
}

impl<T> Drop for WaitingPop<'_, T> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

fn stopped() -> Error {
    let message = "the runtime of this handle has ended, and with it the task that pops";
    Error::new(ErrorKind::Configuration, message).with_outcome(Outcome::Unknown)
}

impl<T> Debug for Pops<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pops").finish_non_exhaustive()
    }
}
