//! Connections: opening them, keeping them open, and checking the server first.

mod alarm;
mod backoff;
mod by_url;
mod channel;
mod connector;
mod greeting;
mod health;
mod link;
mod primary;
mod progress;
mod requirements;
mod rights;
mod sentinel;
mod server;
mod supervisor;
mod target;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

#[cfg(test)]
pub(crate) use self::requirements::{as_info, check};
#[cfg(not(feature = "tls"))]
pub(crate) use self::tls::Tls;
#[cfg(feature = "tls")]
pub use self::tls::Tls;
pub(crate) use self::{
    alarm::Alarm,
    backoff::Backoff,
    by_url::{by_url, check_url},
    channel::Channel,
    primary::{Primary, Timeouts, open},
    sentinel::parameters as sentinel_parameters,
    supervisor::{Dial, State, Supervised},
};
pub use self::{
    connector::{Connector, Role},
    health::ConnectionHealth,
    link::{Link, Wire},
    requirements::Warning,
    rights::access_rules,
    sentinel::SentinelConnector,
    server::ServerConnector,
};
