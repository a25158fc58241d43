//! The page for operators is true: its commands give the output that it shows.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;
use redis::Value;

use self::patient::patient;

const LEASE: Duration = Duration::from_secs(3600);

/// The queue that the page speaks of.
async fn orders(server: &Server) -> Result<()> {
    let backend = patient(&server.url()).connect().await?;
    let name = QueueName::new("orders")?;
    let queue = backend
        .open_reliable(&name, &ReliableConfig::default())
        .await?;
    let batch: Vec<_> = (1..=6)
        .map(|order| Push::new(format!("order {order}")))
        .collect();
    queue.push(&batch).await?;
    let web = Holder::new("web-1")?;
    let three = NonZeroUsize::new(3).expect("not zero");
    let (_, leased) = queue.settle_and_lease(&[], three, LEASE, Some(web)).await?;
    let receipts: Vec<_> = leased.deliveries.iter().map(|each| each.receipt).collect();
    let settlements = [
        Settlement::retry(receipts[1], LEASE),
        Settlement::bury(receipts[2], "no such customer"),
    ];
    queue.settle(&settlements).await?;
    Ok(())
}

/// The page's commands, each with the output that it shows.
fn shown() -> Vec<(String, Vec<String>)> {
    let page = include_str!("../../docs/operations.md");
    let blocks = page.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let mut shown: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ redis-cli --raw "), shown.last_mut()) {
            (Some(command), _) => shown.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line.to_owned()),
            (None, None) => panic!("an output before any command: {line}"),
        }
    }
    shown
}

/// The output of `redis-cli --raw`.
fn printed(value: Value, lines: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.into_iter().for_each(|value| printed(value, lines)),
        Value::BulkString(bytes) => lines.push(String::from_utf8_lossy(&bytes).into_owned()),
        Value::Int(number) => lines.push(number.to_string()),
        Value::Nil => lines.push(String::new()),
        other => panic!("{other:?}"),
    }
}

fn fits(line: &str, pattern: &str) -> bool {
    match pattern.split_once('…') {
        Some((before, after)) => line.starts_with(before) && line.ends_with(after),
        None => line == pattern,
    }
}

#[tokio::test]
async fn each_command_of_the_page_gives_what_it_shows() {
    let server = Server::start().expect("a server");
    orders(&server).await.expect("the queue");
    let shown = shown();
    assert!(shown.len() > 10, "{}", shown.len());
    for (command, expected) in shown {
        let words: Vec<_> = command.split(' ').collect();
        let mut lines = Vec::new();
        printed(server.ask(&words).expect(&command), &mut lines);
        let same = lines.len() == expected.len()
            && lines
                .iter()
                .zip(&expected)
                .all(|(line, pattern)| fits(line, pattern));
        assert!(
            same,
            "{command}: {lines:?}, and the page shows {expected:?}"
        );
    }
}
