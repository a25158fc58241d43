//! The engine that runs containers.

use std::{env, path::Path};

use testcontainers::core::client::docker_client_instance;

use super::ContainerError;

/// Names the engine; testcontainers reads it.
const NAMED: &str = "DOCKER_HOST";

/// Fails if no engine answers, before a longer error of the first step that needs one.
pub(crate) async fn check() -> Result<(), ContainerError> {
    let asked = match docker_client_instance().await {
        Ok(engine) => match engine.ping().await {
            Ok(_) => return Ok(()),
            Err(error) => ContainerError::tried("it says", &error),
        },
        Err(error) => ContainerError::tried("it says", &error),
    };
    let place = named().map_or_else(
        || format!("at the usual socket, and {NAMED} names none"),
        |host| format!("at {NAMED}={host}"),
    );
    Err(ContainerError::new(format!(
        "no Docker engine answers {place}. Start one (`systemctl start docker`, or Docker Desktop), or name \
         one that runs, as {NAMED}=unix:///run/docker.sock; {asked}"
    )))
}

/// Whether its containers' ports are ports of this machine: then the loopback interface is enough for them.
pub(crate) fn is_here() -> bool {
    let socket = named().is_none_or(|host| host.starts_with("unix://"));
    // In a container, the socket leads to the engine outside.
    socket && !Path::new("/.dockerenv").exists()
}

fn named() -> Option<String> {
    env::var(NAMED).ok()
}
