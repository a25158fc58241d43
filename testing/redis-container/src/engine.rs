//! The engine that runs containers.

use std::{env, path::Path};

use testcontainers::{
    bollard::query_parameters::RemoveContainerOptionsBuilder, core::client::docker_client_instance,
};

use super::ContainerError;

/// Names the engine; testcontainers reads it.
const NAMED: &str = "DOCKER_HOST";

/// Fails if no engine answers, before a longer error of the first step that needs one.
pub(crate) async fn check() -> Result<(), ContainerError> {
    let place = named().map_or_else(
        || format!("at the usual socket, and {NAMED} names none"),
        |host| format!("at {NAMED}={host}"),
    );
    let what = format!(
        "no Docker engine answers {place}. Start one (`systemctl start docker`, or Docker Desktop), or name \
         one that runs, as {NAMED}=unix:///run/docker.sock. The cause"
    );
    let engine = docker_client_instance().await;
    let engine = engine.map_err(|error| ContainerError::tried(&what, &error))?;
    let answer = engine.ping().await;
    answer.map_err(|error| ContainerError::tried(&what, &error))?;
    Ok(())
}

/// Removes a container by its name, if there is one.
pub(crate) async fn remove(name: &str) {
    if let Ok(engine) = docker_client_instance().await {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true);
        // It fails if there is none; and if the engine is gone, which the caller reports.
        let _ = engine.remove_container(name, Some(options.build())).await;
    }
}

/// Whether its containers' ports are ports of this machine: then the loopback interface is enough for them.
pub(crate) fn is_here() -> bool {
    let host = named().unwrap_or_default();
    let apart = host.starts_with("tcp:") || host.starts_with("http");
    // In a container, the socket leads to the engine outside.
    !apart && !Path::new("/.dockerenv").exists()
}

fn named() -> Option<String> {
    env::var(NAMED).ok()
}
