//! The sentinels that a URL names, the service that they watch, and how to log in to each.

use queue_core::Result;
use redis::{ProtocolVersion, RedisConnectionInfo};

use crate::connection::{
    hosts::{Form, Hosts},
    parameters::{OF_SENTINELS, Parameters},
    target::UrlTarget,
};

const FORM: Form = Form {
    family: "sentinel",
    port: 26379,
    parameters: OF_SENTINELS,
    example: "redis+sentinel://user:password@host:26379,host:26379/service/db",
};

/// The content of a URL of sentinels.
pub(in crate::connection) struct Address {
    pub(in crate::connection) sentinels: Vec<UrlTarget>,
    pub(in crate::connection) service: String,
    /// How to greet the servers that the sentinels name.
    pub(in crate::connection) primary: UrlTarget,
}

/// Whether a URL names sentinels.
pub(in crate::connection) fn names_sentinels(url: &str) -> bool {
    FORM.is_of(url)
}

impl Address {
    /// Reads a URL. No error shows text that may be part of a password.
    pub(in crate::connection) fn parse(url: &str) -> Result<Self> {
        let hosts = Hosts::split(url, &FORM)?;
        let (service, database) = hosts.path.split_once('/').unwrap_or((hosts.path, ""));
        if service.is_empty() {
            return Err(hosts.malformed("it names no service behind its hosts"));
        }
        // All characters that Sentinel accepts.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !service.chars().all(plain) {
            let what = if service.contains([':', '=', '&']) {
                // The text there may be part of a password.
                "behind its hosts stands the service, then a ? and the parameters".to_owned()
            } else {
                format!("the service {service:?} can have A-Z a-z 0-9 . - _")
            };
            return Err(hosts.malformed(&what));
        }
        let mut sentinels = hosts.targets(database)?;
        let primary = sentinels[0].clone();
        let login = login_to_sentinels(&hosts.parameters);
        for sentinel in &mut sentinels {
            sentinel.handshake = login.clone();
        }
        Ok(Self {
            sentinels,
            service: service.to_owned(),
            primary,
        })
    }
}

/// Sentinels have users and passwords of their own, and no databases.
fn login_to_sentinels(parameters: &Parameters) -> RedisConnectionInfo {
    let mut login = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP2)
        .set_skip_set_lib_name();
    if let Some(user) = parameters.get("sentinel_username") {
        login = login.set_username(user);
    }
    if let Some(password) = parameters.get("sentinel_password") {
        login = login.set_password(password);
    }
    login
}
