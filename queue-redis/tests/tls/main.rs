//! Queues over TLS on real servers, and the connections that TLS refuses.

#![cfg(unix)]

mod certificates;
mod cluster;
#[path = "../support/errors.rs"]
mod errors;
#[path = "../support/open.rs"]
mod open;
#[path = "../support/patient.rs"]
mod patient;
mod refused;
mod sentinel;
mod settings;
mod working;

use std::{error::Error as StdError, time::Duration};

use queue_redis::{Builder, Tls};
use queue_testing::until;
use real_redis::{Server, ServerBuilder};

use self::{
    certificates::{Authority, Issued},
    patient::patient,
};

type Test = Result<(), Box<dyn StdError>>;

/// Longer than a busy machine takes for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server builder with this certificate.
fn with(issued: &Issued) -> ServerBuilder {
    Server::builder().with_tls(issued.certificate.as_str(), issued.key.as_str())
}

/// Trusts this authority alone.
fn trusting(authority: &Authority) -> Tls {
    Tls::new().roots(authority.certificate.as_str())
}

fn url(server: &Server) -> String {
    server.tcp_url().expect("it has a port")
}

/// A client of this server, with these settings.
fn to(server: &Server, tls: Tls) -> Builder {
    patient(&url(server)).tls(tls)
}
