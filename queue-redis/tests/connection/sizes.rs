//! Requests that are larger than what the server takes.

use std::sync::Arc;

use queue_core::*;
use queue_redis::{RedisBackend, Warning};
use real_redis::Server;

use super::{Test, clients, errors::assert_lasts, patient::patient, until::until};

const MIB: usize = 1024 * 1024;
/// Both limits are the smallest that a server allows.
const LIMITS: [&str; 2] = ["proto-max-bulk-len", "client-query-buffer-limit"];

fn limited(limit: &str, rules: &str) -> std::result::Result<Server, real_redis::ServerError> {
    let server = Server::builder().with_user("worker", "secret", &format!("~* &* +@all {rules}"));
    server.with_line(format!("{limit} {MIB}")).start()
}

async fn connect(server: &Server, large: usize) -> Result<RedisBackend> {
    let builder = patient(&server.url_as("worker", "secret"));
    builder.large_bodies_from(large).connect().await
}

async fn queue(backend: &RedisBackend) -> Result<Arc<dyn ReliableQueue>> {
    let config = ReliableConfig::default().with_max_body(4 * MIB);
    backend.open_reliable(&QueueName::new("q")?, &config).await
}

/// The numbers of the connections that are open.
fn connections(server: &Server) -> Vec<String> {
    let clients = clients(server);
    let ids = clients.iter().filter_map(|client| client.split(' ').next());
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_body_beyond_a_limit_that_the_server_reports_is_not_sent() -> Test {
    for (limit, large) in [(LIMITS[0], 1), (LIMITS[1], 1), (LIMITS[0], usize::MAX)] {
        let server = limited(limit, "")?;
        let backend = connect(&server, large).await?;
        let warns = |warning: &Warning| matches!(warning, Warning::RequestLimit(warns) if warns.contains(limit));
        assert!(
            backend.health().warnings.iter().any(warns),
            "{:?}",
            backend.health().warnings
        );
        let queue = queue(&backend).await?;
        let before = connections(&server);
        let error = queue
            .push_one(vec![b'x'; 2 * MIB])
            .await
            .expect_err("too large");
        assert_lasts(&error, &[limit, "1048576", "2097", "send smaller values"]);
        let _ = queue.push_one(vec![b'x'; MIB / 2]).await?;
        assert_eq!(connections(&server), before, "nobody was cut off");
        assert_eq!(queue.depth().await?.ready, 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_body_beyond_an_unreported_limit_cuts_off_others_once_and_then_fails_permanently() -> Test
{
    for (limit, large) in [(LIMITS[0], 1), (LIMITS[1], 1), (LIMITS[1], usize::MAX)] {
        let server = limited(limit, "-config")?;
        let backend = connect(&server, large).await?;
        let queue = queue(&backend).await?;
        let push = async || queue.push_one(vec![b'x'; 2 * MIB]).await;
        let mut error = push().await.expect_err("too large");
        until("others have a connection again", || {
            backend.health().is_up()
        })
        .await;
        backend.ping().await?;
        let before = connections(&server);
        for _ in 0..5 {
            if !error.is_transient() {
                break;
            }
            error = push().await.expect_err("too large");
        }
        assert_eq!(error.kind(), ErrorKind::Configuration, "{limit}: {error}");
        for part in ["2097", LIMITS[0], LIMITS[1]] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(!push().await.expect_err("too large").is_transient());
        until("its own connections are closed", || {
            connections(&server).len() == 1
        })
        .await;
        assert_eq!(connections(&server), before, "nobody else was cut off");
        let _ = queue.push_one("small").await?;
        server.ask::<()>(&["CONFIG", "SET", limit, "1gb"])?;
        let _ = push().await?;
        let _ = push().await?;
        assert_eq!(connections(&server), before);
        assert_eq!(queue.depth().await?.ready, 3);
    }
    Ok(())
}
