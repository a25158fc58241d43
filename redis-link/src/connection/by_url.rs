//! The connector for a URL of any scheme, and the parameters of a URL.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use queue_core::Result;

use super::{
    Connector, SentinelConnector, ServerConnector,
    opening::Opening,
    parameters::{OF_CLUSTERS, OF_HOSTS, OF_SENTINELS, OF_SOCKETS, Parameters},
    seeds,
    seeds::names_cluster,
    sentinel::names_sentinels,
    target::{UrlTarget, names_socket},
    tls::Tls,
};

/// The settings that a URL has besides its servers' addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UrlSettings {
    pub prefix: Option<String>,
    pub client_name: Option<String>,
    pub startup_timeout: Option<Duration>,
}

/// Reads the settings of a URL.
pub fn url_settings(url: &str) -> Result<UrlSettings> {
    let known = match url {
        url if names_sentinels(url) => OF_SENTINELS,
        url if names_cluster(url) => OF_CLUSTERS,
        url if names_socket(url) => OF_SOCKETS,
        _ => OF_HOSTS,
    };
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters = Parameters::read(query, known)?;
    let text = |name| parameters.get(name).map(str::to_owned);
    Ok(UrlSettings {
        prefix: text("prefix"),
        client_name: text("client_name"),
        startup_timeout: parameters.time("startup_timeout")?,
    })
}

/// Makes the connector for this URL.
pub fn by_url(url: &str, tls: Option<&Tls>, opening: &Opening) -> Result<Arc<dyn Connector>> {
    if names_sentinels(url) {
        return Ok(Arc::new(SentinelConnector::by(url, tls, opening)?));
    }
    Ok(Arc::new(ServerConnector::by(url, tls, opening)?))
}

/// Checks everything about this URL that can be checked without connecting.
pub fn check_url(url: &str) -> Result<()> {
    if names_sentinels(url) {
        return SentinelConnector::check(url);
    }
    if names_cluster(url) {
        return seeds::check(url);
    }
    UrlTarget::parse(url).map(drop)
}
