//! Connections: opening them, keeping them open, and checking the server first.

mod alarm;
mod backoff;
mod by_url;
mod channel;
mod connector;
mod copies;
mod greeting;
mod health;
mod hosts;
mod link;
mod parameters;
mod primary;
mod progress;
mod requirements;
mod rights;
mod seeds;
mod sentinel;
mod server;
mod step;
mod supervisor;
mod target;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod written;

#[cfg(test)]
pub(crate) use self::requirements::{as_info, check};
#[cfg(not(feature = "tls"))]
pub(crate) use self::tls::Tls;
#[cfg(feature = "tls")]
pub use self::tls::Tls;
pub(crate) use self::{
    alarm::Alarm,
    backoff::Backoff,
    by_url::{by_url, check_url, prefix},
    channel::Channel,
    copies::CopiesAsked,
    primary::{Primary, Settings, Timeouts, open},
    seeds::{Seeds, names_cluster},
    supervisor::{Dial, State, Supervised},
};
pub use self::{
    connector::{Connector, Role},
    health::ConnectionHealth,
    link::{Link, Wire},
    requirements::Warning,
    rights::{access_rules, cluster_access_rules},
    sentinel::SentinelConnector,
    server::ServerConnector,
};
