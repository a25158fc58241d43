//! The page for operators, on an address of its own.

use std::{io, path::Path, sync::Arc};

use queue_core::{Backend, Error, ErrorKind, sanitized};
use queue_ops::web::Web;

use tokio::net::TcpListener;

use crate::{
    End, Outcome, arguments,
    listener::serve_on,
    output::{note, write_line},
};

pub(crate) async fn serve(backend: Arc<dyn Backend>, arguments: &arguments::Web) -> Outcome {
    let (listen, hosts) = (arguments.listen, &arguments.host);
    if listen.ip().is_unspecified() && hosts.is_empty() && arguments.public_url.is_none() {
        return Err(Error::invalid(format!(
            "{listen} is reached under unknown names, and any site could send its visitors there: name the hosts that \
             browsers use, as in --host ops.example.com, or --host localhost"
        )));
    }
    let page = Web::new(backend).sample_every(arguments.every_ms);
    let mut page = page.schedules(&*arguments.schedules).on_action(|entry| {
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
    if let Some(file) = &arguments.token_file {
        page = page.writes(token(file)?)?;
    }
    if let Some(url) = &arguments.public_url {
        page = page.public_url(url)?;
    }
    if arguments.no_bodies {
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
    let mut served = hosts.clone();
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
