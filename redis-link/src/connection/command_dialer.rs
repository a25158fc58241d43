//! Opening the connection for commands: to a fit server, with the scripts loaded.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Confirmation, Error, ErrorKind, Outcome, Result, Spawn, in_millis};
use redis::Value;
use tokio::time;

use super::{
    AcceptedSizes, Channel, Connector, CopiesAsked, Dial, Needs, Role, Warning,
    config::ConfigReply, requirements, rights,
};
use crate::{
    clock::Clock,
    error::{Failure, OwnMeanings, cannot_connect},
};

const UNKNOWN_LIMIT: &str = "the largest request that the server takes is unknown";
const UNKNOWN_SNAPSHOTS: &str = "the largest request that the server takes is unknown; appendonly is off, and whether snapshots are \
     on is unknown: without both, a restart loses all data";

/// How long opening a connection may take, and a request on it.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For opening a connection.
    pub connect: Duration,
    /// How long the server may be silent while a request waits.
    pub response: Duration,
}

/// The settings of all connections of a backend.
#[derive(Clone)]
pub struct Settings {
    /// The timeouts of each connection.
    pub timeouts: Timeouts,
    /// The time without a sign of life after which a connection is tested.
    pub keep_alive: Duration,
    /// Whether to accept a server that evicts keys.
    pub allow_eviction: bool,
    /// The scripts, commands and rights that calls need.
    pub needs: Arc<Needs>,
    /// The meanings of refusals that the owner of the calls knows.
    pub meanings: OwnMeanings,
    /// The clock of calls.
    pub clock: Clock,
    /// Runs the connections' tasks.
    pub spawn: Arc<dyn Spawn>,
    /// The seed, which no other backend has.
    pub seed: u64,
    /// Whether the servers are nodes of a cluster.
    pub in_cluster: bool,
    /// The confirmation that calls can wait for, if any; the servers must then be able to count copies.
    pub confirmation: Option<Confirmation>,
}

/// Opens the connection for commands.
#[derive(Clone)]
pub struct CommandDialer {
    /// Opens the connections.
    pub connector: Arc<dyn Connector>,
    /// The settings of all connections.
    pub settings: Arc<Settings>,
    /// The last check's findings that do not rule the server out.
    pub warnings: Arc<Mutex<Vec<Warning>>>,
    /// The sizes that the server accepts, as far as they are known.
    pub sizes: Arc<AcceptedSizes>,
}

impl CommandDialer {
    async fn prepared(&self, address: &str) -> Result<Channel> {
        let channel = open(&*self.connector, Role::Commands, self.settings.timeouts).await?;
        let unfit = |failure: Failure| failure.into_error(address);
        let mut warnings = match channel.request(&redis::cmd("INFO")).await {
            Ok(info) => {
                let info: String = redis::from_redis_value(info).map_err(|error| {
                    Error::new(ErrorKind::Internal, format!("INFO of {address}: {error}"))
                })?;
                self.check(&info, address)?
            }
            Err(failure) => {
                let Some(lack) = failure.lack() else {
                    return Err(unfit(failure));
                };
                let hello = channel.request(&redis::cmd("HELLO")).await.map_err(unfit)?;
                self.check(&requirements::as_info(&hello), address)?;
                vec![Warning::unchecked(lack)]
            }
        };
        let config = ConfigReply::of(&channel, self.settings.needs.largest_part).await;
        self.sizes.set_limit(config.limit);
        warn_of(&config, &mut warnings);
        warnings.extend(rights::check(&channel, &self.settings.needs, address).await?);
        *self.warnings.lock().unwrap_or_else(PoisonError::into_inner) = warnings;
        if !self.settings.needs.only_reads {
            self.load_missing(&channel).await.map_err(unfit)?;
        }
        if let Some(confirmation) = self.settings.confirmation {
            let asked = CopiesAsked::new(confirmation, address.to_owned());
            asked.check(&channel).await?;
        }
        Ok(channel)
    }

    fn check(&self, info: &str, address: &str) -> Result<Vec<Warning>> {
        let settings = &self.settings;
        requirements::check(info, settings.allow_eviction, settings.in_cluster)
            .map_err(|error| Error::new(error.kind(), format!("{address} cannot be used: {error}")))
    }

    /// Loads the scripts that the server does not have, so that the first call of each finds it. Mostly the server has
    /// them all; then this is one small request.
    async fn load_missing(&self, channel: &Channel) -> Result<(), Failure> {
        let mut command = redis::cmd("SCRIPT");
        command.arg("EXISTS");
        for script in &self.settings.needs.scripts {
            command.arg(script.hash());
        }
        let known = match channel.request(&command).await? {
            Value::Array(known) => known,
            _ => Vec::new(),
        };
        let known = known.into_iter().map(|known| known == Value::Int(1));
        let known = known.chain(std::iter::repeat(false));
        let missing = self
            .settings
            .needs
            .scripts
            .iter()
            .zip(known)
            .filter(|(_, known)| !known);
        channel
            .request_all(missing.map(|(script, _)| script.load_command()))
            .await
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CommandDialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandDialer")
            .field(&self.connector)
            .finish()
    }
}

#[async_trait]
impl Dial for CommandDialer {
    async fn dial(&self) -> Result<Channel> {
        let address = self.connector.address();
        let timeout = self.settings.timeouts.connect;
        match time::timeout(timeout, self.prepared(&address)).await {
            // The requests change nothing that is stored.
            Ok(channel) => channel.map_err(|error| error.with_outcome(Outcome::NotApplied)),
            Err(_) => Err(slow(&address, timeout)),
        }
    }
}

/// Opens a connection within the connect timeout.
pub async fn open(connector: &dyn Connector, role: Role, timeouts: Timeouts) -> Result<Channel> {
    let address = connector.address();
    match time::timeout(timeouts.connect, connector.connect(role)).await {
        Ok(Ok(link)) if link.is_stillborn() => Err(no_runtime()),
        Ok(Ok(link)) => Ok(Channel::new(link, timeouts.response)),
        Ok(Err(error)) => Err(cannot_connect(error, &address)),
        Err(_) => Err(slow(&address, timeouts.connect)),
    }
}

/// Warns about settings that are known, not guessed: without AOF, snapshots may be on.
fn warn_of(config: &ConfigReply, warnings: &mut Vec<Warning>) {
    let is_doubtful = warnings.contains(&Warning::NotPersistent);
    if config.saves != Some(false) {
        warnings.retain(|warning| *warning != Warning::NotPersistent);
    }
    if let Some(lack) = config.lack {
        let cost = match is_doubtful {
            true => UNKNOWN_SNAPSHOTS,
            false => UNKNOWN_LIMIT,
        };
        warnings.push(Warning::lacking(lack, "CONFIG", "GET", cost));
    }
    if let Some(limit) = &config.limit {
        warnings.push(Warning::RequestLimit(limit.to_string()));
    }
}

fn no_runtime() -> Error {
    Error::new(
        ErrorKind::Configuration,
        "the runtime that is to run this backend's tasks has ended: give Builder::spawn one that \
         lives as long as the backend",
    )
}

fn slow(address: &str, timeout: Duration) -> Error {
    let timeout = in_millis(timeout);
    // Redis takes the beginning of TLS for the beginning of a command, and waits for its end.
    let hint = if address.starts_with("rediss") {
        " (a Redis port without TLS says nothing to a client that speaks it: is this the TLS port?)"
    } else {
        ""
    };
    Error::new(
        ErrorKind::Unavailable,
        format!("cannot connect to {address}: it was not ready within {timeout}{hint}"),
    )
}
