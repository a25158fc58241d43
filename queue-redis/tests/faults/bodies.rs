//! Bodies are opaque: any bytes come out as they went in.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::{ground::connect, subject::Subject};

const LEASE: Duration = Duration::from_secs(600);

/// Bytes that protocols, scripts and numbers might take for something else, and sizes around those
/// at which encodings change.
fn odd_bodies() -> Vec<Vec<u8>> {
    let mut bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        vec![0],
        vec![0; 1000],
        vec![0xff; 1000],
        (0..=255).collect(),
        b"\r\n$-1\r\n*0\r\n".to_vec(),
        b"1e400".to_vec(),
        b"130775545883395173".to_vec(),
        b"-0".to_vec(),
        b"nil".to_vec(),
        b"{tag}".to_vec(),
        "\u{feff}ünï\u{0}\u{202e}".into(),
    ];
    for size in [
        63, 64, 127, 128, 255, 256, 4095, 4096, 16_383, 16_384, 65_535, 65_536,
    ] {
        // A pattern without a short period, so that no part looks like another.
        bodies.push((0..size).map(|n: u32| (n * n / 7 % 251) as u8).collect());
    }
    bodies
}

#[tokio::test]
async fn any_bytes_come_out_as_they_went_in() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    let one = NonZeroUsize::MIN;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let leasing = queue.leasing();
        for body in odd_bodies() {
            let push = Push::new(body.clone())
                .with_header("name", "ünï\r\n\u{0}")
                .with_header("", "");
            queue.put_one(push.clone()).await.expect("put");
            let first = leasing.lease(one, LEASE).await.expect("lease").deliveries;
            assert_eq!(first[0].body, push.body);
            assert_eq!(first[0].headers, push.headers);
            // Moves the body through every place of a message.
            let release = [Settlement::release(first[0].receipt)];
            let (_, again) = leasing
                .settle_and_lease(&release, one, LEASE, None)
                .await
                .expect("settle_and_lease");
            let again = &again.deliveries[0];
            assert_eq!((&again.body, &again.headers), (&push.body, &push.headers));
            let retry = [Settlement::retry(again.receipt, Duration::ZERO)];
            let (_, third) = leasing
                .settle_and_lease(&retry, one, LEASE, None)
                .await
                .expect("settle_and_lease");
            let third = &third.deliveries[0];
            assert_eq!((&third.body, &third.headers), (&push.body, &push.headers));
            let bury = Settlement::bury(third.receipt, "ünï\r\n");
            leasing.settle_one(bury).await.expect("bury");
            let dead = leasing.dead_letters(Page::first(1)).await.expect("listed");
            let dead = &dead.entries[0];
            assert_eq!((&dead.body, &dead.headers), (&push.body, &push.headers));
            assert_eq!(dead.reason, DeathReason::Buried("ünï\r\n".to_owned()));
            leasing.revive(&[dead.id]).await.expect("revive");
            let last = leasing.lease(one, LEASE).await.expect("lease").deliveries;
            assert_eq!(
                (&last[0].body, &last[0].headers),
                (&push.body, &push.headers)
            );
            leasing.ack(last[0].receipt).await.expect("ack");
        }
    }
}

#[tokio::test]
async fn a_ring_keeps_any_bytes() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for (name, pace) in [("plain", None), ("paced", Some(Duration::from_secs(3600)))] {
        let name = QueueName::new(name).expect("a name");
        let mut config = RotatingConfig::default();
        config.pace = pace;
        let ring = backend.open_rotating(&name, &config).await.expect("opens");
        let bodies = odd_bodies();
        for (number, body) in bodies.iter().enumerate() {
            let headers = Headers::default().with("name", "ünï\r\n\u{0}");
            let item = Insert::new(body.clone()).with_headers(headers);
            let key = [&[0, 255, number as u8], &body[..body.len().min(64)]].concat();
            ring.insert_one(item.with_key(key)).await.expect("insert");
        }
        let listed = ring.list(Page::first(100)).await.expect("listed").entries;
        let visited = ring.visit(100, Duration::ZERO).await.expect("visit");
        // Not `assert_eq`, which would print the whole body.
        assert!(
            listed == visited,
            "the listed items differ from the visited ones"
        );
        let found: Vec<_> = visited.iter().map(|item| item.body.to_vec()).collect();
        assert!(
            found == bodies,
            "the visited items differ from the inserted ones"
        );
    }
}
