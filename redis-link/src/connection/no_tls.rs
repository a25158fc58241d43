//! Replaces TLS in a build without TLS.

use std::{convert::Infallible, io};

use queue_core::{Error, ErrorKind, Result};
use redis::{RedisError, RedisResult};

/// Settings of TLS: there are none in this build.
#[derive(Debug, Clone)]
pub enum Tls {}

/// A TLS client: there is none in this build.
#[derive(Debug, Clone)]
pub(super) struct TlsClient(Infallible);

impl TlsClient {
    pub(super) fn new(settings: Option<&Tls>) -> Result<Self> {
        match settings {
            Some(settings) => match *settings {},
            None => Err(left_out("the URL")),
        }
    }

    pub(super) async fn shake_hands<S>(&self, _: S, _: &str) -> RedisResult<S> {
        match self.0 {}
    }
}

/// Refuses a URL that asks for TLS.
pub(super) fn check_is_built_in(scheme: &str) -> Result<()> {
    Err(left_out(&format!("{scheme}://")))
}

/// The reason why a new connection failed.
pub(super) fn reason(error: io::Error) -> RedisError {
    error.into()
}

fn left_out(what: &str) -> Error {
    Error::new(
        ErrorKind::Configuration,
        format!(
            "{what} asks for TLS, which was not compiled in: enable the feature `tls` of queue-kit \
             or queue-redis (features = [\"tls\"]), or use redis:// on a trusted network"
        ),
    )
}
