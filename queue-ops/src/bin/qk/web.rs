//! The page for operators, on an address of its own.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use queue_core::{Backend, Error, ErrorKind};
use queue_ops::web::Web;

use tokio::{net::TcpListener, sync::watch, time::sleep};

use crate::{End, Outcome, output::write_line};

/// The time that requests have to end once the program was asked to stop.
const LAST_REQUESTS: Duration = Duration::from_secs(2);
/// Bytes of the shortest token.
const SHORTEST: usize = 16;

pub(crate) async fn serve(
    backend: Arc<dyn Backend>,
    listen: SocketAddr,
    token_file: Option<&Path>,
    hosts: &[String],
    no_bodies: bool,
    every: Duration,
    schedules: &str,
) -> Outcome {
    let page = Web::new(backend).sample_every(every);
    let mut page = page.schedules(schedules).on_action(|entry| {
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
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        asked_to_stop().await;
        stop.send_replace(true);
    });
    let asked = |mut stopped: watch::Receiver<bool>| async move {
        // The sender is there until it has sent.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let serving = axum::serve(listener, page.router());
    let serving = serving.with_graceful_shutdown(asked(stopped.clone()));
    // Open pages keep their connections for as long as they are shown.
    let patience = async {
        asked(stopped).await;
        sleep(LAST_REQUESTS).await;
    };
    tokio::select! {
        served = serving => served.map_err(|error| failed("cannot serve", error))?,
        () = patience => {}
    }
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
