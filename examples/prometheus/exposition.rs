//! Serves a page of metrics over HTTP, for one scraper. A program with a web server adds a route
//! there instead; the exporter's feature `http-listener` brings a server.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// The longest request to read: a scraper's is far shorter.
const LONGEST_REQUEST: usize = 8 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers every `GET /metrics` with the current `page`. Ends only if accepting connections fails.
pub(crate) async fn serve(
    listener: TcpListener,
    page: impl Fn() -> String + Send + Sync + 'static,
) -> io::Result<()> {
    let page = Arc::new(page);
    loop {
        let (stream, _) = listener.accept().await?;
        let page = Arc::clone(&page);
        // If one scrape fails, the scraper notices.
        tokio::spawn(async move { timeout(PATIENCE, answer(stream, &*page)).await });
    }
}

async fn answer(mut stream: TcpStream, page: &(dyn Fn() -> String + Sync)) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") {
        ("200 OK", page())
    } else {
        ("404 Not Found", "see /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
