//! The servers of a cluster that a URL names, and how to reach the others.

use queue_core::Result;

use super::{
    ServerConnector,
    hosts::{Form, Hosts},
    opening::Opening,
    parameters::OF_CLUSTERS,
    target::UrlTarget,
    tls::Tls,
};

const FORM: Form = Form {
    family: "cluster",
    port: 6379,
    parameters: OF_CLUSTERS,
    example: "redis+cluster://user:password@host:6379,host:6379",
};

/// Some servers of a cluster. Each one knows the others.
#[derive(Debug, Clone)]
pub struct Seeds {
    servers: Vec<ServerConnector>,
}

/// Whether a URL names servers of a cluster.
pub fn names_cluster(url: &str) -> bool {
    FORM.is_of(url)
}

impl Seeds {
    /// The seeds that a URL names.
    pub fn by(url: &str, tls: Option<&Tls>, opening: &Opening) -> Result<Self> {
        let targets = targets(url)?;
        let tls = targets[0].security(tls)?;
        let servers = targets.into_iter();
        let servers = servers.map(|target| ServerConnector::to(target, tls.clone(), opening));
        Ok(Self {
            servers: servers.collect(),
        })
    }

    /// One connector for each seed.
    pub fn servers(&self) -> &[ServerConnector] {
        &self.servers
    }

    /// A connector to another server of the cluster, with the same settings.
    pub fn connector_to(&self, (host, port): &(String, u16)) -> ServerConnector {
        self.servers[0].at(host.clone(), *port)
    }
}

/// Checks a URL.
pub(super) fn check(url: &str) -> Result<()> {
    targets(url).map(drop)
}

pub(super) fn targets(url: &str) -> Result<Vec<UrlTarget>> {
    let hosts = Hosts::split(url, &FORM)?;
    if !matches!(hosts.path, "" | "0") {
        return Err(hosts.malformed("a cluster has the database 0 alone, so none can be named"));
    }
    hosts.targets("")
}
