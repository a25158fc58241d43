//! The page for operators is true: its commands give the output that it shows.

#![cfg(all(unix, feature = "cli"))]

use std::{num::NonZeroUsize, process::Command, time::Duration};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::Server;
use redis::Value;

const LEASE: Duration = Duration::from_secs(3600);

/// The queue that the page speaks of.
async fn orders(server: &Server) -> Result<()> {
    let backend = RedisBackend::connect(&server.url()).await?;
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
        Settlement::retry_because(receipts[1], LEASE, "402: card declined"),
        Settlement::bury(receipts[2], "no such customer"),
    ];
    queue.settle(&settlements).await?;
    Ok(())
}

const PAGE: &str = include_str!("../../docs/operations.md");
/// The part of the page that shows the queue as it was at first again.
const WITHOUT: &str = "## Without `qk`";

/// The commands of a part of the page, each with the output that it shows.
fn shown(part: &str) -> Vec<(String, Vec<String>)> {
    let blocks = part.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let mut shown: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), shown.last_mut()) {
            (Some(command), _) => shown.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line.to_owned()),
            (None, None) => panic!("an output before any command: {line}"),
        }
    }
    shown
}

/// The output of a command on this server.
fn run(server: &Server, command: &str) -> Vec<String> {
    if let Some(command) = command.strip_prefix("redis-cli --raw ") {
        let words: Vec<_> = command.split(' ').collect();
        let mut lines = Vec::new();
        printed(server.ask(&words).expect(command), &mut lines);
        return lines;
    }
    let arguments = command.strip_prefix("qk ").expect("a command of the page");
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
    // Every second part stands in quotes.
    for (nth, part) in arguments.split('"').enumerate() {
        match nth % 2 {
            0 => qk.args(part.split_whitespace()),
            _ => qk.arg(part),
        };
    }
    let output = qk.env("QUEUE_URL", server.url()).output().expect("qk runs");
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    text.lines().map(str::to_owned).collect()
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

/// Whether a line has all parts of the pattern, in order; `…` stands for anything.
fn fits(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…').peekable();
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

#[tokio::test]
async fn each_command_of_the_page_gives_what_it_shows() {
    let (with, without) = PAGE.split_once(WITHOUT).expect("the part without qk");
    for (part, least) in [(with, 15), (without, 10)] {
        let server = Server::start().expect("a server");
        orders(&server).await.expect("the queue");
        let shown = shown(part);
        assert!(shown.len() > least, "{}", shown.len());
        for (command, expected) in shown {
            let lines = run(&server, &command);
            let same = lines.len() == expected.len();
            let same = same
                && lines
                    .iter()
                    .zip(&expected)
                    .all(|(line, pattern)| fits(line, pattern));
            assert!(
                same,
                "{command}:\n{}\n\nand the page shows\n{}",
                lines.join("\n"),
                expected.join("\n")
            );
        }
    }
}

#[test]
fn a_pattern_fits_as_it_says() {
    for (line, pattern) in [
        ("a b c", "a … c"),
        ("a b c", "a b c"),
        ("anything", "…"),
        ("1 b 2 c 3", "1 …2… 3"),
    ] {
        assert!(fits(line, pattern), "{line} {pattern}");
    }
    for (line, pattern) in [("a b c", "a … d"), ("a b c", "a b"), ("a b c", "b …")] {
        assert!(!fits(line, pattern), "{line} {pattern}");
    }
}
