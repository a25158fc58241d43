//! The section of docs/jobs.md about this service: its requests get the responses that it shows.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::process::{Client, Process};

const PAGE: &str = include_str!("../../../../docs/jobs.md");

/// The section's `curl` commands, each with the answer that it shows.
fn shown() -> Vec<(&'static str, &'static str)> {
    let (_, section) = PAGE.split_once("## A whole service").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines: Vec<&str> = section.lines().collect();
    let pairs = lines.windows(2);
    let commands = pairs.filter_map(|pair| Some((pair[0].strip_prefix("$ curl ")?, pair[1])));
    commands.collect()
}

/// Sends what a `curl` command would send.
fn send(client: &Client, command: &str) -> Value {
    let (target, body) = match command.split_once(" -d ") {
        Some((target, body)) => (target, Some(body.trim_matches('\''))),
        None => (command, None),
    };
    let url = target
        .split(' ')
        .find(|word| word.starts_with("127.0.0.1:8080"));
    let path = url
        .expect("an address")
        .trim_start_matches("127.0.0.1:8080");
    let answer = match body {
        Some(body) => client.post(path, &serde_json::from_str(body).expect("JSON")),
        None => client.get(path),
    };
    let (status, body) = answer.expect("an answer");
    assert_eq!(status, 200, "{command}: {body}");
    body
}

#[test]
fn the_requests_of_the_page_get_the_answers_that_it_shows() {
    let process = Process::start("memory:");
    let client = process.client();
    let shown = shown();
    assert!(shown.len() >= 3, "{shown:?}");
    let ((push, shown_id), others) = shown.split_first().expect("a push comes first");
    let id = send(&client, push);
    for (command, expected) in others {
        // The nightly report may be the first message, or the second one.
        let command = command.replace(&format!("/jobs/{shown_id}"), &format!("/jobs/{id}"));
        let begun = Instant::now();
        let mut body = send(&client, &command).to_string();
        // An attempt begins soon after the push, and its first report comes soon after that.
        while !fits(&body, expected) && begun.elapsed() < Duration::from_secs(60) {
            body = send(&client, &command).to_string();
        }
        assert!(
            fits(&body, expected),
            "{command}: {body}, and the page shows {expected}"
        );
    }
}

/// Whether a text has all parts of the pattern, in order; `…` stands for anything.
fn fits(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split('…').all(|part| {
        let at = rest.find(part);
        rest = at.map_or("", |at| &rest[at + part.len()..]);
        at.is_some()
    })
}
