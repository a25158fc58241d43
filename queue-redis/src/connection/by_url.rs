//! The connector for a URL of any scheme, and the parameters of one.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use queue_core::{Result, Spawn};

use super::{
    Connector, SentinelConnector, ServerConnector,
    parameters::{OF_CLUSTERS, OF_HOSTS, OF_SENTINELS, OF_SOCKETS, Parameters},
    seeds,
    seeds::names_cluster,
    sentinel::names_sentinels,
    target::{Target, names_socket},
    tls::Tls,
};

/// The prefix that a URL sets, if it sets one.
pub(crate) fn prefix(url: &str) -> Result<Option<String>> {
    let known = match url {
        url if names_sentinels(url) => OF_SENTINELS,
        url if names_cluster(url) => OF_CLUSTERS,
        url if names_socket(url) => OF_SOCKETS,
        _ => OF_HOSTS,
    };
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters = Parameters::read(query, known)?;
    Ok(parameters.get("prefix").map(str::to_owned))
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
