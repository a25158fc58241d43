//! The page for operators, on an address of its own.

use std::{net::SocketAddr, path::Path, sync::Arc};

use queue_core::{Error, ErrorKind};
use queue_ops::web::Web;
use queue_redis::RedisBackend;
use tokio::net::TcpListener;

use crate::{End, Outcome, output::write_line};

/// Bytes of the shortest token.
const SHORTEST: usize = 16;

pub(crate) async fn serve(
    backend: RedisBackend,
    listen: SocketAddr,
    token_file: Option<&Path>,
    hosts: &[String],
    no_bodies: bool,
) -> Outcome {
    let mut page = Web::new(Arc::new(backend)).on_action(|entry| {
        write_line(&format!(
            "{}: {}: {}",
            entry.at.as_millis(),
            entry.action,
            entry.outcome
        ));
    });
    if let Some(file) = token_file {
        page = page.writes(token(file)?);
    }
    if no_bodies {
        page = page.redact(|_, _| None);
    }
    let failed = |what: &str, error: std::io::Error| {
        Error::new(
            ErrorKind::Configuration,
            format!("{what} {listen}: {error}"),
        )
    };
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| failed("cannot listen on", error))?;
    let address = listener
        .local_addr()
        .map_err(|error| failed("cannot listen on", error))?;
    let mut served: Vec<String> = hosts.to_vec();
    served.push(address.to_string());
    if address.ip().is_loopback() {
        served.push(format!("localhost:{}", address.port()));
    }
    // A page on all addresses without a host is reached under unknown names.
    if !address.ip().is_unspecified() || !hosts.is_empty() {
        page = page.hosts(served);
    }
    write_line(&format!("listening on http://{address}"));
    let serving = axum::serve(listener, page.router()).with_graceful_shutdown(asked_to_stop());
    serving
        .await
        .map_err(|error| failed("cannot serve", error))?;
    Ok(End::Well)
}

fn token(file: &Path) -> Result<String, Error> {
    let place = file.display();
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Error::invalid(format!("the token in {place}: {error}")))?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let rule = "letters and digits, 16 at least; `openssl rand -hex 16` makes one";
        return Err(Error::invalid(format!("the token in {place}: {rule}")));
    }
    Ok(token.to_owned())
}

async fn asked_to_stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = interrupted.await;
}
