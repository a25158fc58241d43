//! Outputs that cannot be written, and outputs that nobody reads.

use std::{fs::OpenOptions, process::Stdio};

use crate::site::Site;

const COMMANDS: [&str; 20] = [
    "ls",
    "why",
    "why orders",
    "stats orders",
    "consumers orders",
    "workers",
    "peek orders ready",
    "show orders 1",
    "dead ls orders",
    "dead groups orders",
    "check",
    "acl",
    "completions bash",
    "man",
    "--help",
    "--version",
    "export orders",
    "--json ls",
    "--json why orders",
    "--json peek orders leased",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_that_takes_nothing_is_an_error() {
    let site = Site::start().await;
    let before = site.ten("orders").await;
    for command in COMMANDS {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let said = site.qk_to(&words, Stdio::from(full));
        assert_eq!(said.status, 2, "{command}: {said:?}");
        // Help has its own way.
        let is_told = command.starts_with("--") || said.err.contains("No space left on device");
        assert!(is_told, "{command}: {said:?}");
    }
    assert_eq!(site.state("orders").await, Some(before));
    // An action that was done stays done, and its status says that nobody read so.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = site.qk_to(&["pause", "orders"], Stdio::from(full));
    assert_eq!(said.status, 2);
    assert!(site.state("orders").await.unwrap().paused);
}

/// As `qk … | head -0` does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_has_seen_enough_is_no_error() {
    let site = Site::start().await;
    site.ten("orders").await;
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let status = site.qk(&words).status;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = site.qk_to(&words, Stdio::from(writer));
        assert_eq!((said.status, said.err.as_str()), (status, ""), "{command}");
    }
}
