//! The way out that `qk why` prints, run by a shell: it says what it means to do, and the queue goes on.

use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use queue_core::*;
use queue_schedule::{Periodic, Scheduler, Schedules};

use crate::site::{HOUR, Site};

/// A name that looks like an option.
const QUEUE: &str = "-orders";
/// A name that a shell would execute, without its quotes.
const EVIL: &str = "it's `touch F`; $(touch F) \"x\"\n--yes\\";

/// Runs a line in a shell that finds `qk`, in an empty folder that stays empty.
fn paste(line: &str) -> Output {
    let folder = std::env::temp_dir().join(format!("qk-pasted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_qk")).parent().unwrap();
    let run = Command::new("sh")
        .args(["-c", line])
        .env("PATH", format!("{}:/usr/bin:/bin", own.display()))
        .env_remove("QUEUE_URL")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{line}");
    run
}

/// The problem of the first finding, and its command.
fn first(site: &Site) -> (String, String) {
    let url = site.server.url();
    let why = ["--json", "--url", &url, "why", "--", QUEUE];
    let said = site.qk(&why).json();
    let finding = &said["findings"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&finding["problem"]),
        text(&finding["remedy"]["command"]),
    )
}

/// Makes a night with odd names.
async fn make(site: &Site, problem: &str) {
    let queues = &site.queues;
    let one = std::num::NonZeroUsize::MIN;
    match problem {
        "paused" => {
            let orders = queues.reliable(QUEUE).open::<u64>().await.unwrap();
            orders.push(&1).await.unwrap();
            orders.queue().pause().await.unwrap();
        }
        "long_leases" => {
            let orders = queues.reliable(QUEUE).open::<u64>().await.unwrap();
            orders.push(&1).await.unwrap();
            let holder = Some(Holder::new(EVIL).unwrap());
            let leased = orders.queue().settle_and_lease(&[], one, 20 * HOUR, holder);
            assert_eq!(leased.await.unwrap().1.deliveries.len(), 1);
        }
        "groups_held" => {
            let orders = queues.grouped(QUEUE).open::<u64>().await.unwrap();
            orders.push(&1, EVIL).await.unwrap();
            orders.queue().pause_group(EVIL, HOUR).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1_100)).await;
        }
        "schedule_disabled" => {
            queues.reliable(QUEUE).open::<u64>().await.unwrap();
            let schedules = Schedules::open(queues, "schedules").await.unwrap();
            // A schedule's name is printed.
            let name = EVIL.replace('\n', " ");
            let periodic = Periodic::every(&*name, HOUR).unwrap();
            let mut scheduler = Scheduler::new(&schedules);
            let added = scheduler.add_push(periodic, QUEUE, |_| Ok(Push::new("1")));
            added.await.unwrap();
            assert!(schedules.disable(&name).await.unwrap());
        }
        "config_differs" => {
            queues.reliable(QUEUE).open::<u64>().await.unwrap();
            let wanted = queues.reliable(QUEUE).max_attempts(7).rate(100, HOUR);
            let error = wanted.open::<u64>().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
        }
        "full" => {
            let orders = queues.bounded(QUEUE, 2).open::<u64>().await.unwrap();
            for order in 0..2 {
                assert!(
                    orders
                        .push(&order, Overflow::Reject)
                        .await
                        .unwrap()
                        .id()
                        .is_some()
                );
            }
            assert!(
                orders
                    .receive(HOUR, Duration::ZERO)
                    .await
                    .unwrap()
                    .is_some()
            );
        }
        "wrong_unit" => {
            let orders = queues.delay(QUEUE).open::<u64>().await.unwrap();
            let delay = Duration::from_secs(30 * 86_400 * 1_000);
            orders.push(&1, delay).await.unwrap();
        }
        other => panic!("no night {other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_out_works_when_it_is_pasted() {
    let site = Site::start().await;
    let name = QueueName::new(QUEUE).unwrap();
    for problem in [
        "paused",
        "long_leases",
        "groups_held",
        "config_differs",
        "full",
        "wrong_unit",
        "schedule_disabled",
    ] {
        make(&site, problem).await;
        let (found, line) = first(&site);
        assert_eq!(found, problem);
        let run = paste(&line);
        let acts_with_yes = problem == "long_leases";
        let status = Some(i32::from(acts_with_yes));
        assert_eq!(
            (run.status.code(), &*run.stderr),
            (status, &b""[..]),
            "{line}: {run:?}"
        );
        if acts_with_yes {
            // It says what it would do, and how to do it.
            let run = paste(&line.replacen(" release ", " release --yes ", 1));
            assert_eq!(run.status.code(), Some(0), "{line}: {run:?}");
        }
        // Looking at messages ends nothing.
        let is_over = first(&site).0 != problem;
        assert_eq!(is_over, problem != "wrong_unit", "{line}");
        let removed = site.queues.backend().remove(&name, Removal::EvenIfLeased);
        assert!(removed.await.unwrap());
    }
}
