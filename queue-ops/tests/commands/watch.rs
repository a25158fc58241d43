//! `qk watch`: it says what `why` says, and ends once the findings are others.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use queue_core::Leasing;

use crate::site::Site;

/// Watches until `change` is over, and returns the first line, all lines after it, and the status.
async fn watch(
    site: &Site,
    arguments: &[&str],
    change: impl AsyncFnOnce(),
) -> (String, Vec<String>, i32) {
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"))
        .args(["watch", "--every-ms", "100"])
        .args(arguments)
        .env("QUEUE_URL", site.server.url())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(qk.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    change().await;
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    (first, rest, qk.wait().unwrap().code().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_findings_ends_it_with_the_status_of_why() {
    let site = Site::start().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    for arguments in [&["orders"][..], &[]] {
        let pause = async || orders.queue().pause().await.unwrap();
        let (first, rest, status) = watch(&site, arguments, pause).await;
        assert!(first.starts_with("nothing is wrong"), "{first}");
        assert!(
            rest.iter()
                .any(|line| line.contains("paused; 0 ready wait")),
            "{rest:?}"
        );
        assert_eq!(status, 1);
        let resume = async || orders.queue().resume().await.unwrap();
        let (first, rest, status) = watch(&site, arguments, resume).await;
        assert!(first.contains("paused; 0 ready wait"), "{first}");
        assert!(
            rest.iter().any(|line| line.starts_with("nothing is wrong")),
            "{rest:?}"
        );
        assert_eq!(status, 0);
    }
}
