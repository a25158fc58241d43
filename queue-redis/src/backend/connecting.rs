//! Connections of a backend: shared connections for all calls, and separate ones for confirmed calls, so that nobody
//! else waits for a confirmation.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Confirmation, Result, TokioSpawn};
use redis_link::{
    Client, Servers,
    cluster::Cluster,
    connection::{Connector, Seeds, Settings},
    node::{MakeCompanion, NodeMaker},
};

use super::RedisBackend;
use crate::{
    keys,
    waiting::{self, NodeWaiter},
};

/// The servers, and how to connect to them.
pub(super) struct Connecting {
    pub(super) to: To,
    pub(super) settings: Settings,
    /// The beginning of all queues' keys and channels.
    pub(super) prefix: Arc<str>,
    pub(super) fall_back: Duration,
    /// How often it has connected.
    pub(super) times: AtomicU64,
}

/// Where the servers are.
#[derive(Debug)]
pub(super) enum To {
    One(Arc<dyn Connector>),
    Cluster(Seeds),
}

impl Connecting {
    /// Connects, over connections that nothing else uses. With a confirmation, their calls are confirmed.
    pub(super) async fn connect(&self, confirmation: Option<Confirmation>) -> Result<Client> {
        let mut settings = self.settings.clone();
        settings.confirmation = confirmation;
        // The nodes' seeds count up from here, and there are fewer nodes than this step.
        let times = self.times.fetch_add(1, Ordering::Relaxed);
        settings.seed = settings.seed.wrapping_add(times << 32);
        let maker = NodeMaker::new(Arc::new(settings), self.waiters());
        let servers = match &self.to {
            To::One(connector) => Servers::One(maker.connect(Arc::clone(connector)).await?),
            To::Cluster(seeds) => Servers::Cluster(Cluster::connect(seeds.clone(), maker).await?),
        };
        let registry = keys::registry(&self.prefix);
        Ok(Client::new(servers, &self.settings, &registry))
    }

    /// Makes a waiter for each node. Each has its own channel, because a cluster passes a published message to all
    /// nodes, while a script's node counts only its own listeners.
    fn waiters(&self) -> MakeCompanion {
        let (prefix, fall_back) = (Arc::clone(&self.prefix), self.fall_back);
        Box::new(move |node| {
            let channel = keys::channel(&prefix, node.seed).into();
            Arc::new(NodeWaiter::new(waiting::Settings {
                node,
                fall_back,
                channel,
            }))
        })
    }
}

impl RedisBackend {
    /// The same backend over other connections, whose calls can be confirmed.
    pub(super) async fn confirming(&self, confirmation: Confirmation) -> Result<Self> {
        confirmation.check()?;
        // Connecting needs the timers of a runtime.
        TokioSpawn::current()?;
        let mut confirming = self.clone();
        confirming.context.client = self.connecting.connect(Some(confirmation)).await?;
        Ok(confirming)
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting")
            .field("to", &self.to)
            .field("timeouts", &self.settings.timeouts)
            .finish_non_exhaustive()
    }
}
