//! Connections: opening them, keeping them open, and checking the server first.

mod alarm;
mod backoff;
mod channel;
mod connector;
mod greeting;
mod health;
mod link;
mod primary;
mod progress;
mod requirements;
mod rights;
mod server;
mod supervisor;

pub(crate) use self::{
    alarm::Alarm,
    backoff::Backoff,
    channel::Channel,
    primary::{Primary, Timeouts, open},
    supervisor::{Dial, State, Supervised},
};
pub use self::{
    connector::{Connector, Role},
    health::ConnectionHealth,
    link::{Link, Wire},
    requirements::Warning,
    server::ServerConnector,
};
