//! The connector for a single server, by URL.

use std::{fmt, io, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Result, Spawn};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, RedisConnectionInfo, RedisError, RedisResult,
    aio::MultiplexedConnection,
    io::tcp::socket2::{SockRef, TcpKeepalive},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{Semaphore, mpsc},
};

use super::{
    Connector, Link, Role,
    greeting::{Greeted, Greeting},
    progress::{Progress, Watched},
    target::Target,
    tls::{Tls, TlsClient},
};

/// The system probes an idle connection after this time, so that firewalls do not forget it, and it
/// notices a peer that is gone.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// The system ends a TCP connection if nobody acknowledges its bytes for this time.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// A future hands its request over at its first poll. Under a limit, the next place would go to the
/// future that asked first, and one that nobody polls would keep it.
const ANY_NUMBER: usize = Semaphore::MAX_PERMITS;

/// Connects to one server, over TCP, TLS or a Unix socket.
#[derive(Clone)]
pub struct ServerConnector {
    server: ConnectionAddr,
    handshake: RedisConnectionInfo,
    tls: Option<TlsClient>,
    spawn: Arc<dyn Spawn>,
}

impl ServerConnector {
    /// Understands `redis://[[user]:password@]host[:port][/db]`, the same with `rediss://`, which
    /// speaks TLS (feature `tls`), and `unix:///path/to/socket[?db=…&user=…&pass=…]`, also written
    /// `redis+unix://`. A prefix is the [backend's](crate::Builder::prefix) to read. Whatever else would have
    /// no effect is refused.
    ///
    /// # Errors
    ///
    /// `Invalid` for a URL of another form; `Configuration` for `rediss://` without the feature
    /// `tls`, or on a machine that trusts no certificates.
    pub fn new(url: &str, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, None, spawn)
    }

    /// The same with settings of TLS.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new); `Invalid` for settings that cannot be used, and for a URL that
    /// does not ask for TLS.
    #[cfg(feature = "tls")]
    pub fn with_tls(url: &str, tls: &super::Tls, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, Some(tls), spawn)
    }

    pub(super) fn by(url: &str, tls: Option<&Tls>, spawn: Arc<dyn Spawn>) -> Result<Self> {
        let target = Target::parse(url)?;
        let tls = target.security(tls)?;
        Ok(Self::to(target, tls, spawn))
    }

    pub(super) fn to(target: Target, tls: Option<TlsClient>, spawn: Arc<dyn Spawn>) -> Self {
        Self {
            server: target.server,
            handshake: target.handshake,
            tls,
            spawn,
        }
    }

    /// The same way of connecting, to another host.
    pub(super) fn at(&self, host: String, port: u16) -> Self {
        Self {
            server: ConnectionAddr::Tcp(host, port),
            ..self.clone()
        }
    }

    /// Its host; empty for a socket.
    pub(crate) fn host(&self) -> String {
        match &self.server {
            ConnectionAddr::Tcp(host, _) => host.clone(),
            _ => String::new(),
        }
    }

    /// Its host and port, or its socket.
    pub(super) fn place(&self) -> String {
        self.server.to_string()
    }

    pub(super) const fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "rediss",
            None => "redis",
        }
    }

    pub(super) fn database(&self) -> i64 {
        self.handshake.db()
    }

    /// Greets a server over this stream, whose bytes are `progress`.
    async fn open<S>(
        &self,
        stream: S,
        progress: Arc<Progress>,
        greeting: Greeting,
        role: Role,
    ) -> RedisResult<Link>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The backend has timeouts of its own. On the waiter's connection no timeout would do, and
        // on the other one the crate's would leave a half-open connection in place.
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(ANY_NUMBER);
        let (pushes, told) = mpsc::unbounded_channel();
        if role == Role::Waiter {
            config = config.set_push_sender(pushes);
        }
        let greeting = Arc::new(greeting);
        let stream = Greeted::new(stream, Arc::clone(&greeting));
        let opened = MultiplexedConnection::new_with_config(&self.handshake, stream, config).await;
        let (connection, driver) = opened.map_err(|error| greeting.reason(error))?;
        greeting.end();
        let link = Link::driven(connection, driver, &*self.spawn);
        Ok(link.told_by(told).with_progress(progress))
    }
}

#[async_trait]
impl Connector for ServerConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let progress = Arc::new(Progress::new());
        match &self.server {
            ConnectionAddr::Tcp(host, port) => {
                let stream = tcp(host, *port).await?;
                // Below TLS: of a record that comes slowly, TLS hands out nothing before its end.
                let stream = Watched::new(stream, Arc::clone(&progress));
                match &self.tls {
                    None => self.open(stream, progress, Greeting::plain(), role).await,
                    Some(tls) => {
                        let stream = tls.shake_hands(stream, host).await?;
                        self.open(stream, progress, Greeting::default(), role).await
                    }
                }
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await?;
                let stream = Watched::new(stream, Arc::clone(&progress));
                self.open(stream, progress, Greeting::default(), role).await
            }
            _ => Err(RedisError::from((
                redis::ErrorKind::InvalidClientConfig,
                "this kind of address is not supported",
            ))),
        }
    }

    fn address(&self) -> String {
        let (scheme, place, database) = (self.scheme(), self.place(), self.database());
        match &self.server {
            ConnectionAddr::Unix(_) => format!("unix://{place}?db={database}"),
            _ => format!("{scheme}://{place}/{database}"),
        }
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(
        &TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE),
    )?;
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(stream)
}

impl fmt::Debug for ServerConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerConnector")
            .field(&self.address())
            .finish()
    }
}
