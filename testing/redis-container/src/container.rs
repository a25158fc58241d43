//! A container, from its start to its removal.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    process,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use testcontainers::{
    ContainerAsync, GenericImage, ImageExt,
    bollard::models::{HostConfig, PortBinding},
    core::{IntoContainerPort, error::TestcontainersError},
    runners::AsyncRunner,
};
use tokio::{runtime::Builder, sync::oneshot};

use super::{ContainerError, engine, ready};

const PORT: u16 = 6379;

/// A server in a container of its own, on a port that the engine chose: of the loopback interface, if the
/// engine is on this machine.
///
/// Dropping it removes the container and its volume, and waits for that. If the process ends without a
/// drop, by a signal or because this is in a `static`, the container stays: `docker ps --filter
/// name=redis-container-` lists those. The program `redis-container` outlives a test that is killed.
#[derive(Debug)]
pub struct Container {
    url: String,
    end: Option<oneshot::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Container {
    /// Starts a server from an image, as `redis:7.2`, `valkey/valkey:8` or one of your own registry, and
    /// waits until it serves. The engine fetches an image that it does not have; without a tag it is
    /// `latest`. The image's own command has to start a server that listens on port 6379.
    ///
    /// It blocks the thread, in a runtime as well. It needs no runtime, and no time of tokio's clock passes.
    ///
    /// # Errors
    ///
    /// If no engine answers; if the engine refuses the image's name, or cannot fetch it; if the image's
    /// command ends, or does not serve within a minute. A container that was made by then is removed.
    pub fn start(image: &str) -> Result<Self, ContainerError> {
        let image = image.to_owned();
        let (send_url, received_url) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        // A thread with its own runtime works inside and outside of a runtime, and a drop can wait for it.
        let keeper = thread::Builder::new()
            .name("redis-container".to_owned())
            .spawn(move || keep(&image, &send_url, ended))
            .map_err(|error| ContainerError::tried("cannot start a thread", &error))?;
        let url = received_url.recv().unwrap_or_else(|_| {
            Err(ContainerError::new(
                "the thread that starts the container has panicked",
            ))
        })?;
        Ok(Self {
            url,
            end: Some(end),
            keeper: Some(keeper),
        })
    }

    /// The server's URL, as `redis://127.0.0.1:32768`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.end = None;
        // Our code in the thread does not panic, and a drop must not pass on another panic.
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

/// Holds a container until the sender asks for its end, or is dropped.
fn keep(
    image: &str,
    send_url: &mpsc::Sender<Result<String, ContainerError>>,
    ended: oneshot::Receiver<()>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = send_url.send(Err(ContainerError::tried("cannot make a runtime", &error)));
            return;
        }
    };
    runtime.block_on(async {
        let container = match run(image).await {
            Ok((container, url)) => {
                let _ = send_url.send(Ok(url));
                container
            }
            Err(error) => {
                let _ = send_url.send(Err(error));
                return;
            }
        };
        let _ = ended.await;
        let id = container.id().to_owned();
        if let Err(error) = container.rm().await {
            let error = ContainerError::tried("it cannot be removed", &error);
            eprintln!("the container {id} is left: {error}");
        }
    });
}

/// Starts a container. Also returns its URL.
async fn run(image: &str) -> Result<(ContainerAsync<GenericImage>, String), ContainerError> {
    engine::check().await?;
    let what = format!("cannot start a server from the image {image:?}");
    let refused = |error: TestcontainersError| ContainerError::tried(&what, &error);
    let (image, tag) = split(image);
    let name = fresh_name();
    let request = GenericImage::new(image, tag)
        .with_exposed_port(PORT.tcp())
        .with_container_name(&name)
        .with_host_config_modifier(|settings| {
            if engine::is_here() {
                on_loopback(settings);
            }
        });
    let container = match request.start().await {
        Ok(container) => container,
        Err(error) => {
            // A container that was created and could not be started still exists.
            engine::remove(&name).await;
            return Err(refused(error));
        }
    };
    ready::wait(&container, &what).await?;
    let host = container.get_host().await.map_err(refused)?.to_string();
    let port = container.get_host_port_ipv4(PORT).await.map_err(refused)?;
    // The port is one of IPv4, and `localhost` may be an address of IPv6 first.
    let host = if host == "localhost" {
        "127.0.0.1"
    } else {
        &host
    };
    let url = format!("redis://{host}:{port}");
    Ok((container, url))
}

/// A name that contains the id of the process that created it. The engine may have containers of other
/// machines, too.
fn fresh_name() -> String {
    let salt = RandomState::new().hash_one(process::id());
    format!("redis-container-{}-{salt:016x}", process::id())
}

/// Its port is a free one of the loopback interface, and not one of every interface: the server has no
/// password.
fn on_loopback(settings: &mut HostConfig) {
    let binding = PortBinding {
        host_ip: Some("127.0.0.1".to_owned()),
        host_port: None,
    };
    settings.publish_all_ports = Some(false);
    settings.port_bindings = Some(HashMap::from([(
        PORT.tcp().to_string(),
        Some(vec![binding]),
    )]));
}

/// An image's name, and its tag. A colon before the last slash belongs to a registry's port; a digest is
/// the tag of a name that ends in `@sha256`.
fn split(image: &str) -> (&str, &str) {
    let tagged = image.rsplit_once(':');
    let tagged = tagged.filter(|(_, tag)| !tag.contains('/'));
    tagged.unwrap_or((image, "latest"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_name_ends_where_its_tag_begins() {
        assert_eq!(split("redis"), ("redis", "latest"));
        assert_eq!(split("valkey/valkey:8"), ("valkey/valkey", "8"));
        assert_eq!(
            split("localhost:5000/redis"),
            ("localhost:5000/redis", "latest")
        );
        assert_eq!(
            split("localhost:5000/redis:7"),
            ("localhost:5000/redis", "7")
        );
        assert_eq!(split("redis@sha256:af"), ("redis@sha256", "af"));
    }
}
