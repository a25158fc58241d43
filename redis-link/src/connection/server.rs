//! The connector for a single server, by URL.

#[cfg(test)]
mod tests;

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Result, Spawn};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, RedisConnectionInfo, RedisError, RedisResult,
    aio::{ConnectionLike, MultiplexedConnection},
    io::tcp::socket2::{SockRef, TcpKeepalive},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    sync::{Semaphore, mpsc},
};

use super::{
    Connector, CredentialsProvider, Link, Role,
    credentials::Login,
    first_bytes::{FirstBytes, Recorded},
    opening::{Opening, check_client_name},
    progress::{Progress, Watched},
    race::{head_start, race},
    target::UrlTarget,
    tls::{Tls, TlsClient},
};

/// The time after which, if a host has several addresses, the next address is tried in parallel (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);
/// The system probes an idle connection after this time, so that firewalls do not forget the connection, and a peer
/// that is gone is noticed.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// The system ends a TCP connection if its bytes are not acknowledged for this time.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// A future sends its request at its first poll. With a limit, free room would go to the future that asked first, and a
/// future that nobody polls would keep it.
const ANY_NUMBER: usize = Semaphore::MAX_PERMITS;

/// Connects to one server, over TCP, TLS or a Unix socket.
#[derive(Clone)]
pub struct ServerConnector {
    server: ConnectionAddr,
    login: Login,
    tls: Option<TlsClient>,
    opening: Opening,
    /// Whether the server should show the name of the connection.
    is_named: bool,
}

impl ServerConnector {
    /// Connects to one server. If the host's name has several addresses, they are tried in the resolver's order. If one
    /// has not accepted the connection within 250 ms, the next one is tried in parallel. With many addresses, all are
    /// tried within half of the connect timeout.
    ///
    /// Accepts `redis://[[user]:password@]host[:port][/db]`, the same with `rediss://`, which uses TLS (feature `tls`),
    /// and `unix:///path/to/socket[?db=…&user=…&pass=…]`, also written `redis+unix://`. A prefix parameter is the
    /// backend's to read. Parameters without effect are refused.
    ///
    /// # Errors
    ///
    /// `Invalid` for a URL of another form; `Configuration` for `rediss://` without the feature `tls`, or on a machine
    /// without trusted certificates.
    pub fn new(url: &str, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, None, &Opening::by(spawn))
    }

    /// The same with settings of TLS.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new); `Invalid` for unusable settings, and for a URL that does not ask for TLS.
    #[cfg(feature = "tls")]
    pub fn with_tls(url: &str, tls: &super::Tls, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, Some(tls), &Opening::by(spawn))
    }

    pub(super) fn by(url: &str, tls: Option<&Tls>, opening: &Opening) -> Result<Self> {
        let target = UrlTarget::parse(url)?;
        let tls = target.security(tls)?;
        Ok(Self::to(target, tls, opening))
    }

    pub(super) fn to(target: UrlTarget, tls: Option<TlsClient>, opening: &Opening) -> Self {
        let mut login = Login::of_url(target.handshake);
        if let Some(provider) = &opening.credentials {
            login = login.by(Arc::clone(provider), false);
        }
        Self {
            server: target.server,
            login,
            tls,
            opening: opening.clone(),
            is_named: true,
        }
    }

    /// Connects to a sentinel: with another login, and by RESP2, where a connection has no name.
    pub(super) fn to_sentinel(
        target: UrlTarget,
        tls: Option<TlsClient>,
        opening: &Opening,
    ) -> Self {
        let server = Self::to(target, tls, opening);
        Self {
            is_named: false,
            ..match &opening.credentials {
                Some(provider) => server.by_provider(Arc::clone(provider), true),
                None => server,
            }
        }
    }

    /// Asks this provider for the login of each connection, instead of using the URL's.
    #[must_use]
    pub fn credentials(self, provider: impl CredentialsProvider) -> Self {
        self.by_provider(Arc::new(provider), false)
    }

    pub(super) fn by_provider(
        self,
        provider: Arc<dyn CredentialsProvider>,
        is_sentinels: bool,
    ) -> Self {
        Self {
            login: self.login.by(provider, is_sentinels),
            ..self
        }
    }

    /// Sets the name of the connections, as `Builder::client_name` of queue-redis does.
    ///
    /// # Errors
    ///
    /// `Invalid` for a name that servers do not accept.
    pub fn client_name(mut self, name: &str) -> Result<Self> {
        check_client_name(name)?;
        self.opening.client_name = name.into();
        Ok(self)
    }

    /// A connector with the same settings to another host.
    pub(super) fn at(&self, host: String, port: u16) -> Self {
        Self {
            server: ConnectionAddr::Tcp(host, port),
            ..self.clone()
        }
    }

    /// The host; empty for a socket.
    pub fn host(&self) -> String {
        match &self.server {
            ConnectionAddr::Tcp(host, _) => host.clone(),
            _ => String::new(),
        }
    }

    /// The host and port, or the socket.
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
        self.login.database()
    }

    /// Greets a server over this stream, whose progress is `progress`.
    async fn open<S>(
        &self,
        stream: S,
        progress: Arc<Progress>,
        first: FirstBytes,
        handshake: &RedisConnectionInfo,
        role: Role,
    ) -> RedisResult<Link>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The backend has timeouts of its own. The connection of the waiter must have no timeout, and on the other one
        // the crate's timeout would leave a half-open connection in place.
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(ANY_NUMBER);
        let (pushes, received) = mpsc::unbounded_channel();
        if role == Role::Waiter {
            config = config.set_push_sender(pushes);
        }
        let first = Arc::new(first);
        let stream = Recorded::new(stream, Arc::clone(&first));
        let opened = MultiplexedConnection::new_with_config(handshake, stream, config).await;
        let (connection, driver) = opened.map_err(|error| first.reason(error))?;
        first.end();
        let mut link = Link::driven(connection, driver, &*self.opening.spawn)
            .with_pushes(received)
            .with_progress(progress);
        if self.is_named {
            // A server that accepts no name works as well; if the connection has ended, the next request finds out.
            let _ = link.req_packed_command(&self.opening.naming(role)).await;
        }
        Ok(link)
    }

    /// Connects to the first of these addresses that accepts the connection, under the name `host`.
    async fn connect_to(
        &self,
        addresses: Vec<SocketAddr>,
        host: &str,
        handshake: &RedisConnectionInfo,
        role: Role,
    ) -> RedisResult<Link> {
        let pace = head_start(HEAD_START, self.opening.limit, addresses.len());
        let tries = addresses.into_iter().map(async |address| {
            let progress = Arc::new(Progress::new());
            let stream = tcp(address).await?;
            // Below TLS, because TLS returns nothing of a slow record before its end.
            let stream = Watched::new(stream, Arc::clone(&progress));
            match &self.tls {
                None => {
                    let first = FirstBytes::plain();
                    self.open(stream, progress, first, handshake, role).await
                }
                Some(tls) => {
                    let stream = tls.shake_hands(stream, host).await?;
                    let first = FirstBytes::default();
                    self.open(stream, progress, first, handshake, role).await
                }
            }
        });
        let opened = race(tries, pace).await;
        opened.map_err(|errors| foremost(errors, host))
    }

    async fn connect_as(&self, handshake: &RedisConnectionInfo, role: Role) -> RedisResult<Link> {
        match &self.server {
            ConnectionAddr::Tcp(host, port) => {
                let addresses = lookup_host((&**host, *port)).await?.collect();
                self.connect_to(addresses, host, handshake, role).await
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let progress = Arc::new(Progress::new());
                let stream = tokio::net::UnixStream::connect(path).await?;
                let stream = Watched::new(stream, Arc::clone(&progress));
                let first = FirstBytes::default();
                self.open(stream, progress, first, handshake, role).await
            }
            _ => Err(RedisError::from((
                redis::ErrorKind::InvalidClientConfig,
                "this kind of address is not supported",
            ))),
        }
    }
}

#[async_trait]
impl Connector for ServerConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let handshake = self.login.handshake().await?;
        let refused = match self.connect_as(&handshake, role).await {
            Err(error) => error,
            opened => return opened,
        };
        match self.login.another(&handshake, &refused).await? {
            Some(another) => self.connect_as(&another, role).await,
            None => Err(refused),
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

/// The error to report if no address accepted the connection: preferably the error of a server that replied.
fn foremost(mut errors: Vec<RedisError>, host: &str) -> RedisError {
    if let Some(answered) = errors.iter().position(|error| !error.is_io_error()) {
        return errors.swap_remove(answered);
    }
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("{host:?} has no address"));
    errors.pop().unwrap_or_else(|| none().into())
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
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
