//! The page for operators, on an address of its own.

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use queue_core::{Backend, Error, ErrorKind, sanitized};
use queue_ops::web::Web;

use tokio::net::TcpListener;

use crate::{
    End, Outcome,
    listener::serve_on,
    output::{note, write_line},
};

/// The settings of `qk web`.
pub(crate) struct Settings<'a> {
    pub(crate) listen: SocketAddr,
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) hosts: &'a [String],
    pub(crate) public_url: Option<&'a str>,
    pub(crate) no_bodies: bool,
    pub(crate) every: Duration,
    pub(crate) schedules: &'a str,
}

pub(crate) async fn serve(backend: Arc<dyn Backend>, settings: Settings<'_>) -> Outcome {
    let Settings { listen, hosts, .. } = settings;
    if listen.ip().is_unspecified() && hosts.is_empty() && settings.public_url.is_none() {
        return Err(Error::invalid(format!(
            "{listen} is reached under unknown names, and any site could send its visitors there: name the hosts that \
             browsers use, as in --host ops.example.com, or --host localhost"
        )));
    }
    let page = Web::new(backend).sample_every(settings.every);
    let mut page = page.schedules(settings.schedules).on_action(|entry| {
        let line = format!(
            "{}: {}: {}",
            entry.at.as_millis(),
            entry.action,
            entry.outcome
        );
        // An action that was done cannot be refused any more; the page has it, too.
        if let Err(error) = write_line(&sanitized(&line)) {
            note(&format!("qk: not written down: {error}"));
        }
    });
    if let Some(file) = settings.token_file {
        page = page.writes(token(file)?)?;
    }
    if let Some(url) = settings.public_url {
        page = page.public_url(url)?;
    }
    if settings.no_bodies {
        page = page.redact(|_, _| None);
    }
    let failed = |what: &str, error: io::Error| {
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
    if !address.ip().is_unspecified() {
        served.push(address.to_string());
    }
    if address.ip().is_loopback() {
        served.push(format!("localhost:{}", address.port()));
    }
    // Without any of them there is a public address.
    if served.is_empty() {
        served.push(address.to_string());
    }
    // Before the line: a supervisor that reads it may stop the program at once.
    let stop = asked_to_stop().map_err(|error| failed("cannot catch signals while on", error))?;
    write_line(&format!("listening on http://{address}"))?;
    serve_on(listener, page.hosts(served).router(), stop).await;
    Ok(End::Well)
}

fn token(file: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(file);
    let text =
        text.map_err(|error| Error::invalid(format!("the token in {}: {error}", file.display())))?;
    // Editors end a file with a line break.
    Ok(text.trim_end().to_owned())
}

/// Listens for the signals that stop the program, from this call on; the future ends with the first of them.
#[cfg(unix)]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// The same on systems with ctrl-c alone.
#[cfg(windows)]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    let mut interrupted = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupted.recv().await;
    })
}
