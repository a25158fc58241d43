//! Findings about a folder: its disk, and the process that has it.

use std::time::Duration;

use queue_core::*;
use queue_ops::{Problem, Severity};

use crate::told::{START, Site, Told};

/// A site in a folder with these facts.
fn site(change: impl FnOnce(&mut FolderFacts)) -> Site {
    let mut folder = FolderFacts::default();
    (folder.owner, folder.held) = (Some(4711), true);
    change(&mut folder);
    let mut server = ServerFacts::default();
    (server.address, server.now) = ("the folder /q".to_owned(), START);
    server.folder = Some(folder);
    let mut backend = Told::new();
    backend.counts_nobody = true;
    backend.server = Some(server);
    Site::on(backend)
}

#[tokio::test(start_paused = true)]
async fn a_disk_is_slow_if_half_of_its_present_syncs_are() {
    let slow = Some(Severity::Trouble);
    for (count, median, age, held, severity) in [
        (8, 100, 299, true, slow),
        (7, 100, 0, true, None),
        (8, 99, 0, true, None),
        (8, 100, 300, true, None),
        (8, 100, 0, false, None),
    ] {
        let site = site(|folder| {
            let mut syncs = SyncFacts::default();
            syncs.count = count;
            syncs.median = Duration::from_millis(median);
            syncs.slowest = Duration::from_millis(900);
            syncs.last = Timestamp::from_millis(START.as_millis() - age * 1_000);
            (folder.held, folder.syncs) = (held, Some(syncs));
        });
        site.queues.reliable("orders").open::<u64>().await.unwrap();
        let found = site.find(Problem::SlowDisk).await;
        let at = (count, median, age, held);
        assert_eq!(found.as_ref().map(|one| one.severity), severity, "{at:?}");
        if let Some(found) = found {
            let expected = "the disk is slow: half of the last 8 syncs took 100 ms or longer, the slowest 900 ms";
            assert_eq!(found.sentence, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_without_a_process_is_named_while_messages_wait_in_place_of_missing_consumers() {
    for held in [true, false] {
        let site = site(|folder| folder.held = held);
        let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
        assert_eq!(site.find(Problem::NoOwner).await, None, "it is empty");
        let later = orders.message(&1).delay(Duration::from_secs(3_600));
        later.send().await.unwrap();
        let later = site.severity(Problem::NoOwner).await;
        assert_eq!(later, (!held).then_some(Severity::Trouble));
        orders.push(&2).await.unwrap();
        site.at(2_000).await;
        let expected = if held {
            Problem::NoConsumer
        } else {
            Problem::NoOwner
        };
        assert_eq!(site.problems().await, [expected]);
    }
    let site = site(|folder| folder.held = false);
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    let found = site.find(Problem::NoOwner).await.unwrap();
    let expected = "1 ready, 0 delayed and 0 leased, and no process has the folder; the last one was the process 4711";
    assert_eq!(found.sentence, expected);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_names_the_room_and_a_damaged_folder_is_no_matter_of_rights() {
    let full = site(|folder| (folder.free, folder.needed) = (Some(3 << 20), 16 << 20));
    full.queues.reliable("orders").open::<u64>().await.unwrap();
    let found = full.find(Problem::RefusesWrites).await.unwrap();
    let expected = "the disk is full, and pushes are refused: 3 MiB are free, 16 MiB are needed; consumers can drain it";
    assert_eq!(found.sentence, expected);
    assert_eq!(found.severity, Severity::Standstill);
    assert_eq!(found.evidence["needed"], 16 << 20);

    let mut server = ServerFacts::default();
    server.folder = Some(FolderFacts::default());
    let mut backend = Told::new();
    (backend.server, backend.refuses) = (Some(server), Some(ErrorKind::Configuration));
    assert_eq!(Site::on(backend).problems().await, [Problem::Unreadable]);
}
