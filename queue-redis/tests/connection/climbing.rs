//! A user with the least rights tries to reach more than its own queues.

use std::time::Duration;

use queue_core::*;
use queue_redis::{Warning, access_rules, optional_rights};
use real_redis::Server;
use redis::{Client, Connection, RedisError, Value};

use super::{Test, patient::patient};

/// The server's own password: no answer may hold it.
const ROOT: &str = "root-password-of-the-server";
/// A value of another user. No answer may hold it.
const FOREIGN: &str = "value-of-the-other-user";

/// A server with two users of queues; the keys and channels of the second one begin with `shop`.
fn server() -> Result<Server, real_redis::ServerError> {
    let server = Server::builder()
        .with_user("worker", "secret", &access_rules("qk"))
        .with_user("other", "secret", &access_rules("shop"))
        .with_line(format!("masterauth {ROOT}"))
        .start()?;
    for words in [
        &["SET", "shop:{orders}:meta", FOREIGN][..],
        &["SET", "qk", FOREIGN],
        &["SET", "qkx:{orders}:meta", FOREIGN],
        &["RPUSH", "shop:{orders}:ready", FOREIGN],
    ] {
        server.ask::<Value>(words)?;
    }
    Ok(server)
}

fn log_in(server: &Server) -> redis::RedisResult<Connection> {
    Client::open(server.url_as("worker", "secret"))?.get_connection()
}

fn attempt(connection: &mut Connection, words: &[&str]) -> Result<Value, RedisError> {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.query(connection)
}

/// Commands that reach settings, users, clients, other keys or other channels. The last word of a script is a key that
/// is declared.
const ATTEMPTS: &[&str] = &[
    "CONFIG GET requirepass",
    "CONFIG GET masterauth",
    "CONFIG GET *",
    "CONFIG SET requirepass x",
    "CONFIG REWRITE",
    "CONFIG RESETSTAT",
    "ACL LIST",
    "ACL USERS",
    "ACL GETUSER default",
    "ACL SETUSER worker +@all",
    "ACL LOG",
    "ACL WHOAMI",
    "INFO",
    "INFO everything",
    "CLIENT LIST",
    "CLIENT KILL TYPE normal",
    "CLIENT NO-EVICT on",
    "COMMAND",
    "DBSIZE",
    "DEBUG SLEEP 0",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION LIST",
    "FUNCTION FLUSH",
    "KEYS *",
    "KEYS qk:*",
    "LATENCY RESET",
    "MEMORY STATS",
    "MEMORY USAGE shop:{orders}:meta",
    "MODULE LIST",
    "MONITOR",
    "RANDOMKEY",
    "REPLICAOF NO ONE",
    "SAVE",
    "SCAN 0",
    "SCRIPT FLUSH",
    "SCRIPT KILL",
    "SELECT 1",
    "SHUTDOWN NOSAVE",
    "SLOWLOG GET",
    "SWAPDB 0 1",
    // Other keys: of another prefix, and of names that begin alike.
    "GET shop:{orders}:meta",
    "GET qk",
    "GET qk:mine",
    "TYPE shop:{orders}:meta",
    "TYPE qk",
    "TYPE qkx:{orders}:meta",
    "EXISTS qk:mine shop:{orders}:meta",
    "HGET shop:{orders}:meta config",
    "LRANGE shop:{orders}:ready 0 -1",
    "UNLINK shop:{orders}:meta",
    "UNLINK qk:mine shop:{orders}:meta",
    "DEL shop:{orders}:meta",
    "DUMP shop:{orders}:meta",
    "RENAME shop:{orders}:meta qk:mine",
    "COPY shop:{orders}:meta qk:mine",
    "MIGRATE 127.0.0.1 1 shop:{orders}:meta 0 1",
    "OBJECT ENCODING shop:{orders}:meta",
    // Other channels.
    "SUBSCRIBE shop:wake:1",
    "SUBSCRIBE qk:wakeful",
    "SUBSCRIBE __keyevent@0__:del",
    "PSUBSCRIBE *",
    "PSUBSCRIBE shop:wake:*",
    "PUBLISH shop:wake:1 x",
    "PUBLISH qk:wake x",
    "PUBSUB CHANNELS *",
    "PUBSUB NUMSUB shop:wake:1",
    "PUBSUB NUMPAT",
];

/// Scripts, each with a key that it declares, or none. A script runs with its caller's rights.
const SCRIPTS: &[(&str, Option<&str>)] = &[
    (
        "return redis.call('GET', KEYS[1])",
        Some("shop:{orders}:meta"),
    ),
    (
        "return redis.call('TYPE', KEYS[1])",
        Some("shop:{orders}:meta"),
    ),
    ("return redis.call('TYPE', 'shop:{orders}:meta')", None),
    (
        "return redis.call('TYPE', 'shop:{orders}:meta')",
        Some("qk:mine"),
    ),
    (
        "return redis.call('LRANGE', 'shop:{orders}:ready', 0, -1)",
        Some("qk:mine"),
    ),
    (
        "return redis.call('UNLINK', 'qk:mine', 'shop:{orders}:meta')",
        None,
    ),
    ("return redis.call('CONFIG', 'GET', 'masterauth')", None),
    ("return redis.call('ACL', 'LIST')", None),
    ("return redis.call('KEYS', '*')", None),
    ("return redis.call('SCAN', '0')", None),
    ("return redis.call('PUBLISH', 'shop:wake:1', 'x')", None),
    ("return redis.call('SELECT', '1')", None),
    ("return redis.call('EVAL', 'return 1', '0')", None),
    ("return redis.pcall('CONFIG', 'GET', '*')", None),
    ("redis.setresp(3); return redis.call('INFO')", None),
];

/// Whether the server said that the user lacks a right, or that no script may run the command.
fn is_refusal(error: &RedisError) -> bool {
    let text = error.to_string().to_lowercase();
    let refusals = [
        "permission",
        "noperm",
        "the user executing the script can't",
        "not allowed",
    ];
    refusals.iter().any(|refusal| text.contains(refusal))
}

#[test]
fn the_least_rights_reach_nothing_but_the_queues_of_the_prefix() -> Test {
    let server = server()?;
    for line in ATTEMPTS {
        // A connection of its own: some commands change the state of theirs.
        let mut connection = log_in(&server)?;
        let words: Vec<&str> = line.split(' ').collect();
        match attempt(&mut connection, &words) {
            Err(error) => assert!(
                is_refusal(&error) && !error.to_string().contains(ROOT),
                "{line}: {error}"
            ),
            Ok(answer) => panic!("{line}: {answer:?}"),
        }
    }
    for (script, key) in SCRIPTS {
        let mut connection = log_in(&server)?;
        let words: Vec<&str> = match key {
            Some(key) => vec!["EVAL", script, "1", key],
            None => vec!["EVAL", script, "0"],
        };
        match attempt(&mut connection, &words) {
            Err(error) => assert!(is_refusal(&error), "{script}: {error}"),
            Ok(answer) => panic!("{script}: {answer:?}"),
        }
    }
    // Nothing changed for the others.
    let meta: String = server.ask(&["GET", "shop:{orders}:meta"])?;
    let ready: Vec<String> = server.ask(&["LRANGE", "shop:{orders}:ready", "0", "-1"])?;
    assert_eq!((meta.as_str(), ready), (FOREIGN, vec![FOREIGN.to_owned()]));
    let settings: Vec<String> = server.ask(&["CONFIG", "GET", "requirepass"])?;
    assert_eq!(settings[1], "");
    Ok(())
}

/// A user who had more before has no more than the rules afterwards.
#[test]
fn the_rules_take_away_what_a_user_had_before() -> Test {
    let server = server()?;
    server.ask::<Value>(&["ACL", "SETUSER", "worker", "+@all", "~*", "&*"])?;
    let rules = access_rules("qk");
    let words: Vec<&str> = ["ACL", "SETUSER", "worker"]
        .into_iter()
        .chain(rules.split(' '))
        .collect();
    server.ask::<Value>(&words)?;
    for line in [
        "TYPE shop:{orders}:meta",
        "CONFIG GET *",
        "PUBLISH shop:wake:1 x",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let error = attempt(&mut log_in(&server)?, &words).expect_err(line);
        assert!(is_refusal(&error), "{line}: {error}");
    }
    Ok(())
}

#[test]
fn a_prefix_is_no_pattern() -> Test {
    for (prefix, reached) in [
        ("*", false),
        ("sh?p", false),
        ("[a-z]hop", false),
        ("sho\\p", false),
        ("x:* ~shop", false),
        ("shop", true),
    ] {
        let rules = access_rules(prefix);
        let server = Server::start()?;
        let mut words = vec!["ACL", "SETUSER", "worker", "on", ">secret"];
        words.extend(rules.split(' '));
        server.ask::<Value>(&words)?;
        for line in ["TYPE shop:key", "PUBLISH shop:wake:1 x"] {
            let words: Vec<&str> = line.split(' ').collect();
            let answer = attempt(&mut log_in(&server)?, &words);
            assert_eq!(answer.is_ok(), reached, "{prefix}: {line}: {answer:?}");
        }
    }
    Ok(())
}

/// Each optional right is left out of the rules, is known to a server, and is named on the page with its price.
#[tokio::test]
async fn the_optional_rights_are_left_out_and_explained() -> Test {
    let page = include_str!("../../../docs/redis.md");
    let rules = access_rules("qk");
    let rules: Vec<&str> = rules.split(' ').collect();
    let server = server()?;
    assert!(
        !rules.iter().any(|rule| rule.starts_with("+@")),
        "{rules:?}"
    );
    for right in optional_rights() {
        assert!(!rules.contains(&right.rule), "{right:?}");
        // A bar within a cell of a table is escaped.
        let rule = right.rule.replace('|', "\\|");
        let line = format!("| `{rule}` | {} | {} |", right.gives, right.exposes);
        assert!(
            page.contains(&line),
            "docs/redis.md lacks this line:\n{line}"
        );
        // Servers before 7.0 know no sub-command of ACL.
        let given = server.ask::<Value>(&["ACL", "SETUSER", "worker", right.rule]);
        assert!(
            given.is_ok() || right.rule == "+waitaof",
            "{right:?}: {given:?}"
        );
    }
    // With them all, nothing is missing.
    let backend = patient(&server.url_as("worker", "secret"))
        .connect()
        .await?;
    let forbidden =
        |warning: &&Warning| matches!(warning, Warning::Forbidden { .. } | Warning::Unchecked);
    let warnings = backend.health().warnings;
    assert_eq!(warnings.iter().filter(forbidden).count(), 0, "{warnings:?}");
    let queue = super::open::open(&backend, "q").await?;
    let _ = queue.push_one("body").await?;
    let lease = Duration::from_secs(60);
    assert!(queue.receive_one(lease, Duration::ZERO).await?.is_some());
    Ok(())
}
