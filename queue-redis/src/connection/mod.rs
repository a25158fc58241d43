//! Connections: what opens them, what keeps them open, and what is checked of a server first.

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
