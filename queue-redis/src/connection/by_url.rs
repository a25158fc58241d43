//! The connector for a URL of any scheme.

use std::sync::Arc;

use queue_core::{Result, Spawn};

use super::{
    Connector, SentinelConnector, ServerConnector, sentinel::names_sentinels, target::Target,
    tls::Tls,
};

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
    Target::parse(url).map(drop)
}
