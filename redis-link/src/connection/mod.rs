//! Connections: opening them, keeping them open, and checking the server first.

mod accepted_sizes;
mod alarm;
mod backoff;
mod by_url;
mod channel;
mod command_dialer;
mod config;
mod connector;
mod copies;
mod credentials;
mod first_bytes;
mod health;
mod hosts;
mod link;
mod opening;
mod parameters;
mod progress;
mod race;
mod reply_sync;
mod requirements;
mod rights;
mod seeds;
mod sentinel;
mod server;
mod supervisor;
mod target;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod written;

pub use self::tls::Tls;
#[doc(hidden)]
pub use self::{
    accepted_sizes::{AcceptedSizes, largest_part},
    alarm::Alarm,
    backoff::Backoff,
    by_url::{by_url, check_url, url_settings},
    channel::Channel,
    command_dialer::{CommandDialer, Settings, Timeouts, open},
    copies::CopiesAsked,
    opening::{CONNECT_TIMEOUT, Opening, check_client_name},
    race::{head_start, race},
    requirements::{as_info, check as check_info},
    rights::{CONNECTION_COMMANDS, Needs},
    seeds::{Seeds, names_cluster},
    supervisor::{ConnectionState, Dial, Supervised},
};
pub use self::{
    connector::{Connector, Role},
    credentials::{Credentials, CredentialsProvider},
    health::ConnectionHealth,
    link::{Link, Wire},
    requirements::Warning,
    sentinel::SentinelConnector,
    server::ServerConnector,
};
