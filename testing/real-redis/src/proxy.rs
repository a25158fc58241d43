//! A proxy that makes a connection slow, long or silent.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep, sleep_until},
};

use super::Server;

/// The bytes to read at a time, and the number of such pieces under way on a long connection before a
/// sender waits. On a short one it waits for each.
const CHUNK: usize = 64 * 1024;
const UNDER_WAY: usize = 256;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From clients to the server.
    Requests,
    /// From the server to clients.
    Replies,
}

/// Stands between clients and a [`Server`], and holds bytes back on demand: the test decides how long the
/// server is slow, and need not sleep. It can also limit the bytes a second, as a slow connection does, and
/// leave connections half-open.
///
/// Needs a tokio runtime with I/O. Dropping it closes its connections.
///
/// ```
/// use real_redis::{Direction, Proxy, Server};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = Server::start()?;
/// let proxy = Proxy::before(&server)?;
/// let mut connection = redis::Client::open(proxy.url())?.get_multiplexed_async_connection().await?;
///
/// let before = proxy.seen(Direction::Replies);
/// proxy.hold(Direction::Replies);
/// let mut ping = redis::cmd("PING");
/// let pong = ping.query_async::<String>(&mut connection);
/// tokio::select! {
///     _ = pong => unreachable!("its reply is held"),
///     // The server has run it, and its reply is on the way.
///     () = proxy.beyond(Direction::Replies, before) => {}
/// }
/// proxy.release();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Proxy {
    server_url: String,
    server: PathBuf,
    socket: PathBuf,
    shared: Arc<ProxyState>,
    listening: AbortHandle,
}

#[derive(Debug)]
struct ProxyState {
    requests: DirectionState,
    replies: DirectionState,
    /// Counts the cuts; a connection ends when it changes.
    cuts: watch::Sender<u32>,
    /// Counts the strandings, which leave connections half-open.
    strandings: watch::Sender<u32>,
}

/// One direction: whether the proxy holds it, its rate and latency, and the bytes that have come so
/// far, held ones included.
#[derive(Debug)]
struct DirectionState {
    held: watch::Sender<bool>,
    bytes_per_second: watch::Sender<u32>,
    latency: watch::Sender<Duration>,
    seen: watch::Sender<u64>,
}

impl DirectionState {
    fn open() -> Self {
        Self {
            held: watch::Sender::new(false),
            bytes_per_second: watch::Sender::new(u32::MAX),
            latency: watch::Sender::new(Duration::ZERO),
            seen: watch::Sender::new(0),
        }
    }

    async fn carry(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let long = !self.latency.borrow().is_zero();
        let (on_the_way, arriving) = mpsc::channel(if long { UNDER_WAY } else { 1 });
        tokio::try_join!(self.send(from, on_the_way), self.arrive(arriving, to))?;
        Ok(())
    }

    async fn send(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        on_the_way: mpsc::Sender<(Instant, Vec<u8>)>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = from.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            self.seen.send_modify(|seen| *seen += count as u64);
            let arrival = Instant::now() + *self.latency.borrow();
            let sent = on_the_way.send((arrival, buffer[..count].to_vec())).await;
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    async fn arrive(
        &self,
        mut arriving: mpsc::Receiver<(Instant, Vec<u8>)>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let mut held = self.held.subscribe();
        while let Some((arrival, bytes)) = arriving.recv().await {
            if arrival > Instant::now() {
                sleep_until(arrival).await;
            }
            // The wait fails only without a sender, and `self` holds the sender.
            let _ = held.wait_for(|held| !held).await;
            to.write_all(&bytes).await?;
            let speed = *self.bytes_per_second.borrow();
            if speed < u32::MAX {
                sleep(Duration::from_secs_f64(
                    bytes.len() as f64 / f64::from(speed),
                ))
                .await;
            }
        }
        Ok(())
    }
}

impl Proxy {
    /// Listens on a socket beside the server's.
    ///
    /// # Errors
    ///
    /// If it cannot create the socket.
    pub fn before(server: &Server) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let socket = server.folder().join(format!("proxy-{number}.sock"));
        let listener = UnixListener::bind(&socket)?;
        let shared = Arc::new(ProxyState {
            requests: DirectionState::open(),
            replies: DirectionState::open(),
            cuts: watch::Sender::new(0),
            strandings: watch::Sender::new(0),
        });
        let accept = accept(listener, server.socket(), Arc::clone(&shared));
        Ok(Self {
            server_url: server.url(),
            server: server.socket(),
            socket,
            shared,
            listening: tokio::spawn(accept).abort_handle(),
        })
    }

    /// The server's URL through this proxy.
    pub fn url(&self) -> String {
        let (from, to) = (self.server.display(), self.socket.display());
        self.server_url.replace(&from.to_string(), &to.to_string())
    }

    /// Holds back all bytes in this direction, until [`release`](Self::release).
    pub fn hold(&self, direction: Direction) {
        self.state(direction).held.send_replace(true);
    }

    /// Lets all bytes pass again, held bytes first.
    pub fn release(&self) {
        self.shared.requests.held.send_replace(false);
        self.shared.replies.held.send_replace(false);
    }

    /// Limits each connection to `bytes_per_second` bytes a second in this direction from now on.
    ///
    /// # Panics
    ///
    /// If it is 0: use [`hold`](Self::hold).
    pub fn throttle(&self, direction: Direction, bytes_per_second: u32) {
        assert_ne!(bytes_per_second, 0, "nothing would pass: use hold");
        let speed = &self.state(direction).bytes_per_second;
        speed.send_replace(bytes_per_second);
    }

    /// Makes each connection opened from now on a long one: bytes in this direction arrive later by
    /// `latency`, at the same rate.
    pub fn lengthen(&self, direction: Direction, latency: Duration) {
        self.state(direction).latency.send_replace(latency);
    }

    /// The bytes that have come so far on all connections, held ones included.
    pub fn seen(&self, direction: Direction) -> u64 {
        *self.state(direction).seen.borrow()
    }

    /// Waits until more bytes than these have come.
    pub async fn beyond(&self, direction: Direction, bytes: u64) {
        let mut seen = self.state(direction).seen.subscribe();
        // The wait fails only without a sender, and `self` holds the sender.
        let _ = seen.wait_for(|seen| *seen > bytes).await;
    }

    /// Closes every connection; held bytes are lost. It still accepts new ones.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Leaves every connection half-open: nothing passes any more, and neither end learns it. New
    /// connections work as usual.
    pub fn strand(&self) {
        self.shared.strandings.send_modify(|times| *times += 1);
    }

    fn state(&self, direction: Direction) -> &DirectionState {
        match direction {
            Direction::Requests => &self.shared.requests,
            Direction::Replies => &self.shared.replies,
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Accepts connections. When it is dropped, they end with the set that holds them.
async fn accept(listener: UnixListener, server: PathBuf, shared: Arc<ProxyState>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (server, shared) = (server.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            let mut cuts = shared.cuts.subscribe();
            let mut strandings = shared.strandings.subscribe();
            // If the server is down, the connection ends at once.
            let Ok(server) = UnixStream::connect(server).await else {
                return;
            };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::select! {
                _ = shared.requests.carry(&mut from_client, &mut to_server) => {}
                _ = shared.replies.carry(&mut from_server, &mut to_client) => {}
                _ = cuts.changed() => {}
                // It stays open until it is cut.
                _ = strandings.changed() => drop(cuts.changed().await),
            }
        });
        while connections.try_join_next().is_some() {}
    }
}
