//! Missing commands and forbidden commands: the error texts tell them apart.

use queue_core::Error;
use queue_redis::RedisBackend;
use real_redis::Server;

use super::{Test, errors::assert_lasts, patient::patient};

/// The ways to take a command away: each with its name, and the words of the error text.
const WAYS: [(Way, &str); 2] = [
    (Way::Forbidden, "the user may not run"),
    (Way::Renamed, "the server does not have"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Forbidden,
    Renamed,
}

/// A server without this command.
fn without(command: &str, way: Way) -> Result<Server, real_redis::ServerError> {
    let rules = "~* &* +@all";
    let server = Server::builder().with_line("save 3600 1");
    match way {
        Way::Forbidden => server.with_user(
            "worker",
            "secret",
            &format!("{rules} -{}", command.to_lowercase()),
        ),
        Way::Renamed => server
            .with_user("worker", "secret", rules)
            .with_line(format!("rename-command {command} \"\"")),
    }
    .start()
}

async fn connect(server: &Server) -> Result<RedisBackend, Error> {
    patient(&server.url_as("worker", "secret")).connect().await
}

/// Whether a server can list its commands, and the permitted ones.
fn reports_commands() -> bool {
    let server = Server::start().expect("a server");
    let version = server.info("server", "redis_version").expect("it answers");
    let version = version.expect("a version");
    let (major, _) = version.split_once('.').expect("several numbers");
    major.parse::<u32>().expect("a number") >= 7
}

#[tokio::test]
async fn without_an_optional_command_the_backend_goes_on_and_says_what_is_lost() -> Test {
    let reports_commands = reports_commands();
    for (command, reason, cost, is_asked) in [
        (
            "INFO",
            "INFO",
            "eviction and persistence are unchecked",
            false,
        ),
        (
            "CONFIG",
            "CONFIG GET",
            "whether snapshots are on is unknown",
            false,
        ),
        ("PUBLISH", "PUBLISH qk:wake:*", "fall-back interval", true),
        (
            "SUBSCRIBE",
            "SUBSCRIBE qk:wake:*",
            "fall-back interval",
            true,
        ),
        ("PUBSUB", "PUBSUB NUMSUB", "two round trips", true),
        ("PING", "PING", "ping is refused", true),
        ("WAIT", "WAIT", "confirmed by replicas", true),
    ] {
        for (way, begins) in WAYS {
            let server = without(command, way)?;
            let backend = connect(&server)
                .await
                .map_err(|error| format!("{command}, {way:?}: {error}"))?;
            let warnings = backend.health().warnings;
            let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
            if is_asked && !reports_commands {
                assert_eq!(warnings, [""; 0], "{command}, {way:?}");
                continue;
            }
            let [warning] = &warnings[..] else {
                panic!("{command}, {way:?}: {warnings:?}");
            };
            let expected = format!("{begins} {reason}: ");
            assert!(
                warning.starts_with(&expected),
                "{warning:?} does not begin {expected:?}"
            );
            assert!(warning.contains(cost), "{warning}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn without_a_needed_command_connecting_fails_and_names_it() -> Test {
    let reports_commands = reports_commands();
    for command in ["EVALSHA", "LTRIM", "ZRANGEBYLEX"] {
        for (way, begins) in WAYS {
            let server = without(command, way)?;
            if reports_commands {
                let error = connect(&server).await.expect_err(command);
                assert_lasts(&error, &[&format!("{begins} {command}")]);
            }
        }
    }
    for command in ["EVAL", "SCRIPT"] {
        let server = without(command, Way::Forbidden)?;
        let error = connect(&server).await.expect_err(command);
        assert_lasts(&error, &["NOPERM", &command.to_lowercase()]);
        let server = without(command, Way::Renamed)?;
        let error = connect(&server).await.expect_err(command);
        assert_lasts(
            &error,
            &["unknown command", command, "does not offer a command"],
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_server_whose_greeting_is_renamed_is_not_taken_for_an_old_one_alone() -> Test {
    let server = without("HELLO", Way::Renamed)?;
    let error = connect(&server).await.expect_err("no HELLO, no RESP3");
    assert_lasts(&error, &["HELLO 3", "6.2", "renamed", "something between"]);
    Ok(())
}
