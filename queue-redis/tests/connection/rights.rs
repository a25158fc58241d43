//! The rights of a user, and the errors and warnings for missing ones.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;
use queue_redis::{RedisBackend, access_rules};
use real_redis::Server;

use super::{Test, errors::assert_lasts, open::open, patient::patient, until::PATIENCE};

const LEASE: Duration = Duration::from_secs(60);

/// The rights that a user needs.
fn least() -> String {
    access_rules("qk")
}

#[test]
fn the_page_lists_the_rights_that_are_needed() {
    let text = include_str!("../../../docs/redis.md");
    let (_, documented) = text.split_once("```text\nresetkeys").expect("the rules");
    let (documented, _) = documented.split_once("```").expect("their end");
    let documented = format!("resetkeys{documented}");
    let words =
        |rules: &str| -> BTreeSet<String> { rules.split_whitespace().map(str::to_owned).collect() };
    assert_eq!(words(&documented), words(&least()));
}

/// Whether the server can report a user's rights.
fn reports_rights(server: &Server) -> bool {
    let version = server.info("server", "redis_version").expect("it answers");
    let version = version.expect("a version");
    let (major, _) = version.split_once('.').expect("several numbers");
    major.parse::<u32>().expect("a number") >= 7
}

fn with(rules: &str) -> Result<Server, real_redis::ServerError> {
    let rules = if rules.contains("-@all") {
        rules.to_owned()
    } else {
        format!("~* &* +@all {rules}")
    };
    let server = Server::builder().with_user("worker", "secret", &rules);
    server.with_line("save 3600 1").start()
}

async fn connect(server: &Server) -> Result<RedisBackend> {
    let builder = patient(&server.url_as("worker", "secret"));
    builder
        .fall_back(Duration::from_millis(100))
        .connect()
        .await
}

fn warnings(backend: &RedisBackend) -> Vec<String> {
    let warnings = backend.health().warnings;
    warnings.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn rights_that_scripts_need_are_checked_at_connect() -> Test {
    let server = with("-ltrim -hdel")?;
    if reports_rights(&server) {
        let error = connect(&server)
            .await
            .expect_err("a lease would stop half-way");
        let socket = server.socket().display().to_string();
        assert_lasts(&error, &["HDEL", "LTRIM", &socket]);
        assert!(!error.to_string().contains("HSET"), "{error}");
    } else {
        assert_eq!(warnings(&connect(&server).await?), [""; 0]);
    }
    for needed in ["-evalsha", "-zrangebylex", "-time", "-publish -hset"] {
        let server = with(needed)?;
        if reports_rights(&server) {
            let error = connect(&server).await.expect_err(needed);
            let named = needed.rsplit('-').next().unwrap_or_default().to_uppercase();
            assert_lasts(&error, &[&named]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_missing_optional_right_is_named_in_a_warning() -> Test {
    for (rules, named) in [
        ("-publish", &["PUBLISH qk:wake:*"][..]),
        ("-pubsub", &["PUBSUB NUMSUB"]),
        ("-subscribe", &["SUBSCRIBE qk:wake:*"]),
        (
            "resetchannels",
            &["PUBLISH qk:wake:*", "SUBSCRIBE qk:wake:*"],
        ),
        ("resetchannels &qk:wake:*", &[]),
    ] {
        let server = with(rules)?;
        let backend = connect(&server).await?;
        let warnings = warnings(&backend);
        let expected = if reports_rights(&server) { named } else { &[] };
        assert_eq!(warnings.len(), expected.len(), "{rules}: {warnings:?}");
        for (warning, named) in warnings.iter().zip(expected) {
            assert!(warning.contains(&format!("not run {named}:")), "{warning}");
            let cost = match *named {
                "PUBSUB NUMSUB" => "two round trips",
                _ => "fall-back interval",
            };
            assert!(warning.contains(cost), "{warning}");
        }
        // The backend works without the right: waiting consumers poll on a timer.
        let queue = open(&backend, "q").await?;
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.receive_one(LEASE, PATIENCE).await }
        });
        let _ = queue.push_one("body").await?;
        let delivery = waiting.await??.expect("it is found");
        queue.ack(delivery.receipt).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_tell_its_settings_is_warned_of() -> Test {
    let server = with("-config")?;
    let [warning] = &warnings(&connect(&server).await?)[..] else {
        panic!("one warning");
    };
    assert!(
        warning.contains("CONFIG GET") && warning.contains("snapshots"),
        "{warning}"
    );
    Ok(())
}

#[tokio::test]
async fn a_user_of_some_keys_alone_is_taken() -> Test {
    for keys in ["~qk:queues ~qk:{orders}:*", "~qk:{orders}:*"] {
        let server = with(&format!("{keys} &* -@all +@all"))?;
        let backend = connect(&server).await?;
        let once = backend.open_once(&QueueName::new("orders")?).await?;
        let _ = once.claim(b"key", LEASE).await?;
        let config = ReliableConfig::default();
        let opened = backend
            .open_reliable(&QueueName::new("other")?, &config)
            .await;
        assert_lasts(&opened.expect_err("its keys are not this user's"), &[]);
        let opened = backend
            .open_reliable(&QueueName::new("orders")?, &config)
            .await;
        assert_eq!(opened.is_ok(), keys.contains("queues"), "{opened:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_right_taken_away_is_named_and_the_outcome_unknown() -> Test {
    let server = with("")?;
    let backend = connect(&server).await?;
    let queue = open(&backend, "q").await?;
    let _ = queue.push_one("body").await?;
    server.ask::<()>(&["ACL", "SETUSER", "worker", "-ltrim"])?;
    let leased = queue.lease(NonZeroUsize::MIN, LEASE).await;
    let error = leased.expect_err("it stops half-way");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(
        error.outcome(),
        Outcome::Unknown,
        "a lease is written: {error:?}"
    );
    assert!(!error.is_transient());
    // Some servers name the command themselves.
    let named = error.to_string().to_uppercase();
    assert!(named.contains("LTRIM"), "{error}");

    server.ask::<()>(&["ACL", "SETUSER", "worker", "-evalsha"])?;
    let error = queue.push_one("body").await.expect_err("nothing runs");
    assert_lasts(&error, &["evalsha"]);
    Ok(())
}

#[tokio::test]
async fn the_least_that_is_needed_is_enough() -> Test {
    let server = with(least().trim())?;
    let backend = connect(&server).await?;
    // The optional rights that a program notices, and no others.
    let warnings = warnings(&backend);
    let optional = ["INFO:", "CONFIG GET:", "PUBSUB NUMSUB:"];
    let optional = &optional[..if reports_rights(&server) { 3 } else { 2 }];
    assert_eq!(warnings.len(), optional.len(), "{warnings:?}");
    for (warning, named) in warnings.iter().zip(optional) {
        assert!(warning.contains(named), "{warnings:?}");
    }
    backend.ping().await?;
    let queue = open(&backend, "q").await?;
    let waiting = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(LEASE, PATIENCE).await }
    });
    let _ = queue.push_one("body").await?;
    let delivery = waiting.await??.expect("it is woken");
    queue.ack(delivery.receipt).await?;
    assert_eq!(queue.depth().await?.ready, 0);
    assert!(backend.health().is_up(), "{:?}", backend.health());
    Ok(())
}

#[tokio::test]
async fn the_least_that_is_needed_is_needed() -> Test {
    let rules = least();
    let server = with(rules.trim())?;
    if !reports_rights(&server) {
        return Ok(());
    }
    let commands = rules
        .split(' ')
        .filter_map(|rule| rule.trim().strip_prefix('+'));
    let mut count = 0;
    // Of the optional rights. Nobody has connected, so that the scripts are still to be loaded.
    let enough = 3;
    for command in commands {
        count += 1;
        let lacking = format!("-{command}");
        server.ask::<()>(&["ACL", "SETUSER", "worker", &lacking])?;
        match connect(&server).await {
            Ok(backend) => assert!(warnings(&backend).len() > enough, "{command} is not needed"),
            Err(error) => assert_lasts(&error, &[]),
        }
        server.ask::<()>(&["ACL", "SETUSER", "worker", &format!("+{command}")])?;
    }
    assert!(count > 30, "{count}");
    connect(&server).await?;
    Ok(())
}
