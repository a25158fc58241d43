//! A server in a container, from an image that has Postgres' programs in its `PATH`.
//!
//! The container shares the folder with this machine: the server's socket is there, so it needs no network.

use std::{env, path::Path, process::Command};

use crate::{ServerError, programs};

/// `container` here runs Postgres in a container, by the Docker engine that answers.
const WHERE: &str = "QUEUE_TEST_POSTGRES";
const CONTAINER: &str = "container";

/// Names the image.
const IMAGE: &str = "QUEUE_TEST_POSTGRES_IMAGE";
const USUAL_IMAGE: &str = "postgres:16";

/// Whether the servers of these tests run in containers.
pub(crate) fn is_asked_for() -> bool {
    env::var_os(WHERE).is_some_and(|place| place == CONTAINER)
}

/// A command of this program of the image, as the user who runs Postgres here.
pub(crate) fn command(program: &str, folder: &Path) -> Result<Command, ServerError> {
    let image = env::var(IMAGE).unwrap_or_else(|_| USUAL_IMAGE.to_owned());
    let mut docker = Command::new("docker");
    docker.args(["run", "--rm", "--network", "none"]);
    docker.args(["--name", &name(folder, program)]);
    docker.args(["--user", &programs::user()?]);
    docker.args(["--volume", &format!("{0}:{0}", folder.display())]);
    // `initdb` asks for the user's name.
    docker.args(["--volume", "/etc/passwd:/etc/passwd:ro"]);
    docker.args(["--entrypoint", program, &image]);
    Ok(docker)
}

/// Kills the server of this folder as a crash would.
pub(crate) fn kill(folder: &Path) {
    let mut docker = Command::new("docker");
    // There may be none.
    let _ = docker.args(["kill", &name(folder, "postgres")]).output();
}

/// The name of a container: the folder's own name is unique.
fn name(folder: &Path, program: &str) -> String {
    let folder = folder.file_name().unwrap_or_default();
    format!("{}-{program}", folder.display())
}
