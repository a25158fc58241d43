//! The servers that an open refuses, and the warnings that it gives.

use std::{sync::Arc, time::Duration};

use queue_core::{Error, ErrorKind, Layered, LeasingExt, Queues, call::Layer};
use queue_redis::{Builder, RedisBackend, Warning};
use real_redis::{Aof, Server};

use super::{
    Test, clients,
    errors::{assert_lasts, assert_passes},
    open::open,
    patient::patient,
    to,
};

async fn refused(builder: Builder) -> Error {
    let refused = builder.connect().await;
    refused.expect_err("it must be refused")
}

#[tokio::test]
async fn a_server_that_is_down_is_an_error_that_names_it() -> Test {
    for (url, address) in [
        (
            "redis://worker:hunter2@127.0.0.1:1/3",
            "redis://127.0.0.1:1/3",
        ),
        (
            "unix:///nowhere/redis.sock?pass=hunter2&user=worker",
            "/nowhere/redis.sock",
        ),
    ] {
        let builder = RedisBackend::builder(url)?;
        assert!(!format!("{builder:?}").contains("hunter2"));
        let error = refused(builder).await;
        assert_passes(&error, &[address]);
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    Ok(())
}

#[tokio::test]
async fn a_bad_url_is_refused_before_anything_is_tried() {
    for (url, kind, named) in [
        ("http://localhost", ErrorKind::Invalid, "http"),
        ("localhost:6379", ErrorKind::Invalid, "redis://"),
        ("redis://", ErrorKind::Invalid, "redis://user"),
        ("redis://localhost/one", ErrorKind::Invalid, "redis://user"),
        #[cfg(feature = "tls")]
        (
            "rediss://localhost/one",
            ErrorKind::Invalid,
            "rediss://user",
        ),
        ("redis+sentinel://localhost", ErrorKind::Invalid, "service"),
        ("redis+sentinel://a,b:c/d", ErrorKind::Invalid, "hosts"),
        ("redis://localhost?perfix=a", ErrorKind::Invalid, "perfix"),
        ("redis://localhost?prefix=", ErrorKind::Invalid, "prefix"),
        ("unix:/a.sock?prefix=a:b", ErrorKind::Invalid, "a:b"),
    ] {
        let error = RedisBackend::connect(url).await.expect_err(url);
        assert_eq!(error.kind(), kind, "{url}");
        assert!(error.to_string().contains(named), "{url}: {error}");
    }
    let error = RedisBackend::builder("redis://worker:hunter2@localhost/one").expect_err("bad");
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_setting_beyond_its_limits_is_refused() -> Test {
    let builder = || RedisBackend::builder("unix:///nowhere/redis.sock");
    let too_long = "x".repeat(65);
    for prefix in ["", "a:b", "{a}", "two words", too_long.as_str()] {
        let error = refused(builder()?.prefix(prefix)).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{prefix}");
    }
    for wrong in [Duration::ZERO, Duration::from_secs(3601)] {
        for builder in [
            builder()?.connect_timeout(wrong),
            builder()?.response_timeout(wrong),
            builder()?.fall_back(wrong),
        ] {
            assert_eq!(refused(builder).await.kind(), ErrorKind::Invalid);
        }
    }
    // A timeout at its limit is accepted, and then the connect fails because no server runs.
    for right in [Duration::from_millis(1), Duration::from_secs(3600)] {
        for builder in [
            builder()?.connect_timeout(right).prefix("x".repeat(64)),
            builder()?.response_timeout(right),
            builder()?.fall_back(right),
        ] {
            assert_eq!(refused(builder).await.kind(), ErrorKind::Unavailable);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_user_needs_the_right_password() -> Test {
    let server = Server::builder().with_password("right").start()?;
    let socket = server.socket();
    let with = |query: &str| format!("unix://{}{query}", socket.display());
    for query in ["", "?pass=wrong-one", "?user=nobody&pass=wrong-one"] {
        let error = refused(patient(&with(query))).await;
        assert_lasts(&error, &["password"]);
        assert!(!format!("{error:?}").contains("wrong-one"), "{error:?}");
    }
    patient(&server.url()).connect().await?.ping().await?;
    Ok(())
}

#[tokio::test]
async fn a_database_and_a_port_can_be_named() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let url = server.tcp_url().expect("it has a port");
    let backend = patient(&format!("{}/7", url.trim_end_matches("/0")))
        .connect()
        .await?;
    backend.ping().await?;
    let clients = clients(&server);
    assert!(
        clients.iter().any(|client| client.contains(" db=7 ")),
        "{clients:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_database_that_the_server_does_not_have_is_refused_for_good() -> Test {
    let server = Server::builder()
        .with_user("worker", "secret", "~* &* +@all -select")
        .start()?;
    let socket = server.socket();
    let beyond = format!("unix://{}?db=99", socket.display());
    let forbidden = format!("{}&db=1", server.url_as("worker", "secret"));
    for (url, way_out) in [(&beyond, "`databases`"), (&forbidden, "SELECT")] {
        let error = refused(patient(url)).await;
        assert_lasts(&error, &[way_out, &socket.display().to_string()]);
    }
    for number in ["-1", "4294967296"] {
        let url = format!("redis://127.0.0.1/{number}");
        let error = RedisBackend::connect(&url).await.expect_err(&url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(number), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_url_may_set_the_prefix() -> Test {
    let server = Server::start()?;
    let url = |prefix: &str| format!("{}?protocol=resp3&prefix={prefix}", server.url());
    let shop = patient(&url("shop")).connect().await?;
    let _ = open(&shop, "q").await?.push_one("to be sold").await?;
    let prefixed = patient(&url("shop")).prefix("office");
    for (backend, ready) in [
        (patient(&url("shop")).connect().await?, 1),
        (to(&server).prefix("shop").connect().await?, 1),
        (patient(&url("office")).connect().await?, 0),
        (to(&server).connect().await?, 0),
        (prefixed.connect().await?, 0),
    ] {
        assert_eq!(open(&backend, "q").await?.depth().await?.ready, ready);
    }
    Ok(())
}

#[tokio::test]
async fn a_replica_is_refused_with_the_reason() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_primary(&primary)?.start()?;
    let error = refused(to(&replica)).await;
    let port = primary.port().expect("it has a port").to_string();
    assert_lasts(&error, &["replica", "primary", &port]);
    Ok(())
}

#[tokio::test]
async fn a_node_of_a_cluster_is_refused() -> Test {
    let node = Server::builder()
        .with_tcp()
        .with_line("cluster-enabled yes")
        .with_user("blind", "secret", "~* +@all -info");
    let node = node.start()?;
    let blind = patient(&node.url_as("blind", "secret"));
    for builder in [to(&node), blind] {
        assert_lasts(&refused(builder).await, &["Redis Cluster"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_replica_is_refused_also_if_it_may_not_be_asked() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica =
        Server::builder()
            .with_primary(&primary)?
            .with_user("blind", "secret", "~* +@all -info");
    let replica = replica.start()?;
    let error = refused(patient(&replica.url_as("blind", "secret"))).await;
    assert_lasts(&error, &["replica"]);
    Ok(())
}

#[tokio::test]
async fn opening_a_connection_leaves_no_error_in_the_statistics() -> Test {
    let server = Server::start()?;
    let mut admin = server.connect()?;
    redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut admin)?;
    let backend = to(&server).connect().await?;
    backend.ping().await?;
    let stats: String = redis::cmd("INFO").arg("errorstats").query(&mut admin)?;
    assert!(!stats.contains("errorstat_"), "{stats}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_drops_messages_is_refused_unless_accepted_by_name() -> Test {
    let server = Server::builder()
        .with_aof(Aof::EverySecond)
        .with_line("maxmemory-policy allkeys-lru")
        .start()?;
    let error = refused(to(&server)).await;
    assert_lasts(&error, &["allkeys-lru", "noeviction", "allow_eviction"]);
    let backend = to(&server).allow_eviction().connect().await?;
    assert_eq!(
        backend.health().warnings,
        [Warning::Evicts("allkeys-lru".to_owned())]
    );

    server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"])?;
    let backend = to(&server).connect().await?;
    assert_eq!(
        backend.health().warnings,
        [Warning::EvictsExpiring("volatile-ttl".to_owned())]
    );
    Ok(())
}

#[tokio::test]
async fn a_server_without_persistence_is_warned_of() -> Test {
    let server = Server::start()?;
    server.ask::<()>(&["CONFIG", "SET", "save", ""])?;
    let warnings = to(&server).connect().await?.health().warnings;
    assert_eq!(warnings, [Warning::NotPersistent]);
    server.ask::<()>(&["CONFIG", "SET", "save", "3600 1"])?;
    assert_eq!(to(&server).connect().await?.health().warnings, []);
    Ok(())
}

/// A layer that leaves queues as they are.
#[derive(Debug)]
struct Clear;

impl Layer for Clear {}

#[tokio::test]
async fn warnings_are_sentences_through_any_layer() -> Test {
    let server = Server::start()?;
    server.ask::<()>(&["CONFIG", "SET", "save", ""])?;
    let redis = to(&server).connect().await?;
    let layered = Layered::new(Clear, Arc::new(redis.clone()));
    for queues in [Queues::new(redis), Queues::new(layered)] {
        let warnings = queues.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in [
            "appendonly",
            "loses all data",
            &server.socket().display().to_string(),
        ] {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_user_who_may_not_ask_is_served_with_a_warning() -> Test {
    let server = Server::builder()
        .with_user("worker", "secret", "~* &* +@all -info -config")
        .start()?;
    let backend = patient(&server.url_as("worker", "secret"))
        .connect()
        .await?;
    let warnings = backend.health().warnings;
    assert_eq!(warnings[0], Warning::Unchecked);
    let is_of_config = |warning: &Warning| matches!(warning, Warning::Forbidden { command, .. } if command == "CONFIG GET");
    assert!(
        warnings[1..].iter().all(is_of_config) && warnings.len() == 2,
        "{warnings:?}"
    );
    backend.ping().await?;
    Ok(())
}
