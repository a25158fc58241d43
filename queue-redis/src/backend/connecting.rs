//! Connections of a backend: those for the calls of all, and others for calls that are confirmed, so that
//! nobody else waits.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use queue_core::{Confirmation, Result, TokioSpawn};

use super::RedisBackend;
use crate::{
    client::{Client, Servers},
    cluster::Cluster,
    connection::{Connector, Seeds, Settings},
    keys,
    node::NodeMaker,
};

/// The servers, and how to connect to them.
pub(super) struct Connecting {
    pub(super) to: To,
    pub(super) settings: Settings,
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
    /// Connects, over connections that nothing else uses; for calls that are confirmed, if a confirmation
    /// is given.
    pub(super) async fn connect(&self, confirmation: Option<Confirmation>) -> Result<Client> {
        let mut settings = self.settings.clone();
        settings.confirmation = confirmation;
        // Nodes count from here, and there are fewer of them.
        let times = self.times.fetch_add(1, Ordering::Relaxed);
        settings.seed = settings.seed.wrapping_add(times << 32);
        let timeout = settings.timeouts.response;
        let maker = NodeMaker {
            settings: Arc::new(settings),
            made: AtomicU64::new(0),
        };
        let servers = match &self.to {
            To::One(connector) => Servers::One(maker.connect(Arc::clone(connector)).await?),
            To::Cluster(seeds) => Servers::Cluster(Cluster::connect(seeds.clone(), maker).await?),
        };
        let registry = keys::registry(&self.settings.prefix);
        let clock = self.settings.clock.clone();
        Ok(Client::new(servers, timeout, clock, &registry))
    }
}

impl RedisBackend {
    /// The same backend over other connections, whose calls can be confirmed.
    pub(super) async fn confirming(&self, confirmation: Confirmation) -> Result<Self> {
        confirmation.check()?;
        // Connecting takes timers of a runtime.
        TokioSpawn::current()?;
        Ok(Self {
            client: self.connecting.connect(Some(confirmation)).await?,
            ..self.clone()
        })
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
