//! The connector for a single server, by URL.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Result, Spawn};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, RedisResult,
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

/// Connects to one server, over TCP or a Unix socket.
#[derive(Clone)]
pub struct ServerConnector {
    server: ConnectionAddr,
    handshake: RedisConnectionInfo,
    spawn: Arc<dyn Spawn>,
}

impl ServerConnector {
    /// Understands `redis://[user[:password]@]host[:port][/db]` and
    /// `unix:///path/to/socket[?db=…&user=…&pass=…]`, also written `redis+unix://`. It does not
    /// read other parameters: a prefix is the [backend's](crate::Builder::prefix).
    ///
    /// # Errors
    ///
    /// `Invalid` for a URL of another form; `Configuration` for `rediss://`, since this build has
    /// no TLS.
    pub fn new(url: &str, spawn: Arc<dyn Spawn>) -> Result<Self> {
        let scheme = url.split(':').next().unwrap_or_default();
        match scheme {
            "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix" => {}
            "rediss" | "valkeys" => {
                return Err(Error::new(
                    ErrorKind::Configuration,
                    format!(
                        "{scheme}:// asks for TLS, which this build of queue-redis does not have: \
                         use redis:// on a trusted network, or inject a connector of your own"
                    ),
                ));
            }
            _ => {
                return Err(Error::invalid(format!(
                    "a Redis URL starts with redis:// or unix://, not with {scheme:?}"
                )));
            }
        }
        // The parser's message without the URL, which may have a password in it.
        let info: ConnectionInfo = url.into_connection_info().map_err(|error| {
            Error::invalid(format!(
                "the {scheme} URL is not understood: {error}; write it as \
                 redis://user:password@host:port/db or unix:///path/to/socket?db=0"
            ))
        })?;
        let database = info.redis_settings().db();
        // No server can have others.
        if !(0..=i64::from(i32::MAX)).contains(&database) {
            return Err(Error::invalid(format!(
                "the {scheme} URL asks for the database {database}: 0 to {} can be named",
                i32::MAX
            )));
        }
        let handshake = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP3)
            // Before 7.2 a server answers this with two errors, which its statistics count.
            .set_skip_set_lib_name();
        Ok(Self {
            server: info.addr().clone(),
            handshake,
            spawn,
        })
    }

    async fn open<S>(&self, stream: S, role: Role) -> RedisResult<Link>
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
        let progress = Arc::new(Progress::new());
        let greeting = Arc::new(Greeting::default());
        let stream = Greeted::new(stream, Arc::clone(&greeting));
        let stream = Watched::new(stream, Arc::clone(&progress));
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
        match &self.server {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let socket = SockRef::from(&stream);
                socket.set_tcp_keepalive(
                    &TcpKeepalive::new()
                        .with_time(KEEPALIVE)
                        .with_interval(KEEPALIVE),
                )?;
                #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
                socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
                self.open(stream, role).await
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                self.open(tokio::net::UnixStream::connect(path).await?, role)
                    .await
            }
            _ => Err(RedisError::from((
                redis::ErrorKind::InvalidClientConfig,
                "this kind of address is not supported",
            ))),
        }
    }

    fn address(&self) -> String {
        let Self {
            server, handshake, ..
        } = self;
        match server {
            ConnectionAddr::Unix(_) => format!("unix://{server}?db={}", handshake.db()),
            _ => format!("redis://{server}/{}", handshake.db()),
        }
    }
}

impl fmt::Debug for ServerConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerConnector")
            .field(&self.address())
            .finish()
    }
}
