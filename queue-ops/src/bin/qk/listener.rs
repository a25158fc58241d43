//! Serves a router on connections that are bounded in number and in time.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, extract::ConnectInfo};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};

/// Connections at a time. Others wait until one ends.
const CONNECTIONS: usize = 512;
/// The time for the head of a request, also of the next one on a connection.
const HEAD: Duration = Duration::from_secs(10);
/// The length of a connection, whatever happens on it. Browsers open another.
const LONGEST: Duration = Duration::from_secs(900);
/// The time that requests have to end once their connection or the program shall end.
const LAST_REQUESTS: Duration = Duration::from_secs(2);
/// The pause after the system refused a connection, as it does if no descriptor is free.
const REFUSED: Duration = Duration::from_millis(200);

/// Serves until `stop` ends, and a little longer for requests that are under way.
pub(crate) async fn serve_on(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (stopping, stopped) = watch::channel(false);
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let room = Arc::clone(&room).acquire_owned().await;
            (room.expect("it is never closed"), listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let connection = serve_one(stream, from, router.clone(), stopped.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(_) => sleep(REFUSED).await,
        }
    }
    stopping.send_replace(true);
    // Open pages keep their connections for as long as they are shown.
    let all = u32::try_from(CONNECTIONS).expect("a small number");
    let _ = timeout(LAST_REQUESTS, room.acquire_many(all)).await;
}

async fn serve_one(
    stream: TcpStream,
    from: SocketAddr,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let service = TowerToHyperService::new(router.layer(axum::Extension(ConnectInfo(from))));
    let mut settings = http1::Builder::new();
    settings.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let mut connection = pin!(settings.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = sleep(LONGEST) => {}
        // The sender is there until it has sent.
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST_REQUESTS, connection).await;
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}
