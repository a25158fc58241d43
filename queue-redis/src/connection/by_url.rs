//! The connector for a URL of any scheme.

use std::{borrow::Cow, sync::Arc};

use queue_core::{Result, Spawn};

use super::{
    Connector, SentinelConnector, ServerConnector, seeds, seeds::names_cluster,
    sentinel::names_sentinels, target::Target, tls::Tls,
};

/// The parameters that a URL of a socket may have.
const OF_SOCKETS: &[&str] = &["db", "user", "pass", "protocol", "prefix"];
/// The parameters that a URL of a host may have: the rest has a place of its own in it.
const OF_HOSTS: &[&str] = &["protocol", "prefix"];
const OF_SENTINELS: &[&str] = &["sentinel_username", "sentinel_password", "prefix"];
const OF_CLUSTERS: &[&str] = &["prefix"];

/// A URL with the same parameters that the redis crate reads, and the parameters that it may have.
pub(crate) fn parameters(url: &str) -> (Cow<'_, str>, &'static [&'static str]) {
    let several = match url {
        url if names_sentinels(url) => OF_SENTINELS,
        url if names_cluster(url) => OF_CLUSTERS,
        url if url
            .split(':')
            .next()
            .is_some_and(|scheme| scheme.ends_with("unix")) =>
        {
            return (url.into(), OF_SOCKETS);
        }
        url => return (url.into(), OF_HOSTS),
    };
    let query = url.split_once('?').map_or("", |(_, query)| query);
    (format!("redis://localhost?{query}").into(), several)
}

/// Makes the connector for this URL.
pub(crate) fn by_url(
    url: &str,
    tls: Option<&Tls>,
    spawn: Arc<dyn Spawn>,
) -> Result<Arc<dyn Connector>> {
    if names_sentinels(url) {
        return Ok(Arc::new(SentinelConnector::by(url, tls, spawn)?));
    }
    Ok(Arc::new(ServerConnector::by(url, tls, spawn)?))
}

/// Checks all of this URL that can be checked without making anything.
pub(crate) fn check_url(url: &str) -> Result<()> {
    if names_sentinels(url) {
        return SentinelConnector::check(url);
    }
    if names_cluster(url) {
        return seeds::check(url);
    }
    Target::parse(url).map(drop)
}
