//! The names by which a server lists the connections.

use std::time::Duration;

use queue_core::{ErrorKind, LeasingExt};
use queue_redis::Builder;
use real_redis::Server;

use super::{Test, clients, open::open, patient::patient, to, until::until};

const HOUR: Duration = Duration::from_secs(3600);

fn names(server: &Server) -> Vec<String> {
    let clients = clients(server);
    let names = clients
        .iter()
        .filter_map(|client| client.split("name=").nth(1));
    let mut names: Vec<_> = names
        .map(|rest| rest.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names
}

/// The names of the connections of a backend that waits.
async fn of(builder: Builder, server: &Server) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let backend = builder.connect().await?;
    let queue = open(&backend, "q").await?;
    let waiting = tokio::spawn(async move { queue.receive_one(HOUR, HOUR).await });
    until("it waits", || names(server).len() == 2).await;
    until("both have a name", || {
        names(server).iter().all(|name| !name.is_empty())
    })
    .await;
    waiting.abort();
    Ok(names(server))
}

#[tokio::test]
async fn each_connection_has_the_programs_name_and_its_use() -> Test {
    let server = Server::start()?;
    let own = of(to(&server), &server).await?;
    let process = std::process::id();
    for (name, role) in own.iter().zip(["commands", "waiter"]) {
        assert!(name.starts_with("connection-"), "{name}");
        assert!(name.ends_with(&format!("-{process}:{role}")), "{name}");
    }
    until("the last backend is gone", || clients(&server).is_empty()).await;
    let set = of(to(&server).client_name("shop"), &server).await?;
    assert_eq!(set, ["shop:commands", "shop:waiter"]);
    until("the last backend is gone", || clients(&server).is_empty()).await;
    let by_url = format!("{}?client_name=shop%2F7", server.url());
    let set = of(patient(&by_url), &server).await?;
    assert_eq!(set, ["shop/7:commands", "shop/7:waiter"]);
    Ok(())
}

#[tokio::test]
async fn a_name_takes_no_right() -> Test {
    let rules = "~* &* +@all -client";
    let server = Server::builder()
        .with_user("worker", "secret", rules)
        .start()?;
    let builder = patient(&server.url_as("worker", "secret"));
    let backend = builder.client_name("shop").connect().await?;
    backend.ping().await?;
    assert_eq!(names(&server), ["shop:commands"]);
    Ok(())
}

#[tokio::test]
async fn a_name_that_no_server_takes_is_refused() -> Test {
    let server = Server::start()?;
    for name in ["", "two words", "né", "a\n", &"x".repeat(65)] {
        let error = to(&server).client_name(name).connect().await;
        let error = error.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("client_name"), "{error}");
    }
    to(&server).client_name("x".repeat(64)).connect().await?;
    Ok(())
}
