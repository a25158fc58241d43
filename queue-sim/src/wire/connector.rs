use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use queue_core::{Running, Spawn};
use queue_redis::{Connector, Link, Role};
use redis::{
    AsyncConnectionConfig, ProtocolVersion, RedisConnectionInfo, RedisResult,
    aio::MultiplexedConnection,
};
use tokio::sync::mpsc;

use super::{network::Network, proxy::ConnectionProxy};
use crate::{
    engine::Executor,
    plan::{Process, What},
    world::Fault,
};

/// The bytes on their way in one direction before the sender waits.
const CAPACITY: usize = 64 * 1024;

/// Opens a process's connections.
#[derive(Debug, Clone)]
pub(super) struct WireConnector {
    pub(super) process: Process,
    pub(super) network: Network,
    pub(super) executor: Executor,
    pub(super) proxy_tasks: ProxyTasks,
}

/// The far ends of all connections of a run. They live as long as the run, and not as their
/// clients.
#[derive(Debug, Clone, Default)]
pub(super) struct ProxyTasks(Arc<Mutex<Vec<Running>>>);

impl ProxyTasks {
    fn keep(&self, proxy: Running) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(proxy);
    }
}

impl WireConnector {
    /// Opens a connection for commands that no queue sends. The history has each of them.
    pub(super) async fn own(&self) -> RedisResult<MultiplexedConnection> {
        let stream = self.open(true);
        let (handshake, config) = greeting();
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&handshake, stream, config).await?;
        let spawner = self.executor.spawner(self.process);
        self.proxy_tasks.keep(spawner.spawn(Box::pin(driver)));
        Ok(connection)
    }

    /// Opens a connection. `own` says that the process itself sends the commands, and not its backend.
    fn open(&self, own: bool) -> tokio::io::DuplexStream {
        let (near, far) = tokio::io::duplex(CAPACITY);
        let proxy = ConnectionProxy::new(self.network.clone(), self.process, own, far);
        let spawner = self.executor.spawner(Process::WORLD);
        self.proxy_tasks.keep(spawner.spawn(Box::pin(proxy.run())));
        near
    }
}

#[async_trait]
impl Connector for WireConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let network = &self.network;
        network.pass(self.process).await;
        let struck = network.strike(self.process, What::Server, &[Fault::Refused], 1);
        if let Some(fault) = struck {
            network.note(fault, self.process);
        }
        if struck.is_some() || network.is_down() {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        }
        let stream = self.open(false);
        let (handshake, mut config) = greeting();
        let (pushes, received) = mpsc::unbounded_channel();
        if role == Role::Waiter {
            config = config.set_push_sender(pushes);
        }
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&handshake, stream, config).await?;
        let spawner = self.executor.spawner(self.process);
        Ok(Link::driven(connection, driver, &spawner).with_pushes(received))
    }

    fn address(&self) -> String {
        "the simulated server".to_owned()
    }
}

/// The settings with which a connection begins. They leave all timeouts to the backend.
fn greeting() -> (RedisConnectionInfo, AsyncConnectionConfig) {
    let handshake = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("queue-kit", env!("CARGO_PKG_VERSION"));
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    (handshake, config)
}
