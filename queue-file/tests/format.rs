//! A folder of format 1 that was written once, with calls and stored states: each version that reads format 1 opens it.
//! `EXPECTED=write` writes it again, as long as no release has the format.

use std::{env, fs, path::PathBuf, sync::Arc, time::Duration};

use queue_core::{
    Backend, Insert, Page, Push, QueueConfig, QueueKind, QueueName, Settlement, Timestamp,
    call::{Answer, Call, Service},
};
use queue_file::{Disk, FileBackend, SyncMode, simulated::SimulatedDisk};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const LEASE: Duration = Duration::from_secs(60);

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format-1")
}

fn name(kind: QueueKind) -> QueueName {
    kind.as_str().parse().unwrap()
}

/// Makes queues of all kinds, and the journal that they leave.
async fn write() {
    let disk = SimulatedDisk::new(1);
    let opened =
        FileBackend::with_segments(Arc::new(disk.clone()), SyncMode::Always, 16 * 1024, NOW);
    let backend = opened.unwrap();
    for kind in QueueKind::ALL {
        let config = QueueConfig::of(kind, 1_000);
        let queue = backend.open(&name(kind), &config).await.unwrap();
        for round in 0..60_u64 {
            let body = format!("{round} {}", "x".repeat(150));
            if kind == QueueKind::Rotating {
                let item = Insert::new(body).with_key(round.to_string());
                queue.call(Call::Insert(vec![item])).await.unwrap();
                continue;
            }
            let push = match round % 4 {
                0 => Push::new(body).with_due(Duration::from_secs(round)),
                1 => Push::new(body)
                    .with_dedup(format!("{round}"), LEASE)
                    .with_header("a", "b"),
                2 => Push::new(body).with_distinct(format!("{round}").into_bytes()),
                _ => Push::new(body),
            };
            queue.put(&[push]).await.unwrap();
            let lease = Call::Lease(1.try_into().unwrap(), LEASE);
            let Answer::Leased(leased) = queue.call(lease).await.unwrap() else {
                panic!("another answer")
            };
            let settle = |receipt| match round % 5 {
                0 => Settlement::bury(receipt, "bad"),
                1 => Settlement::retry(receipt, LEASE),
                _ => Settlement::ack(receipt),
            };
            let settled: Vec<_> = leased
                .deliveries
                .iter()
                .map(|each| settle(each.receipt))
                .collect();
            if round % 7 > 0 && !settled.is_empty() {
                queue.call(Call::Settle(settled)).await.unwrap();
            }
        }
    }
    let store = backend
        .open_once(&"effects".parse().unwrap())
        .await
        .unwrap();
    let _claim = store.claim(b"key", LEASE).await.unwrap();
    churn(&backend).await;
    let expected = seen(&backend).await;
    drop((backend, store));
    let _ = fs::remove_dir_all(fixture());
    fs::create_dir(fixture()).unwrap();
    for file in disk.files().unwrap() {
        let bytes = disk.read(file, u64::MAX).unwrap();
        fs::write(fixture().join(format!("journal-{file:012}")), bytes).unwrap();
    }
    fs::write(
        fixture().join("queue-kit.format"),
        "queues of queue-kit, format 1\n",
    )
    .unwrap();
    fs::write(fixture().join("expected"), expected).unwrap();
}

/// Calls that leave nothing, until the states of the queues are stored and the first segment goes.
async fn churn(backend: &FileBackend) {
    let stored = backend
        .open_stored(&name(QueueKind::Rotating))
        .await
        .unwrap();
    let ring = stored.unwrap().queue;
    for round in 0..400_u64 {
        let item = Insert::new("x".repeat(400)).with_key(format!("churn {round}"));
        let Answer::Inserted(inserted) = ring.call(Call::Insert(vec![item])).await.unwrap() else {
            panic!("another answer")
        };
        ring.call(Call::Remove(vec![inserted[0].id()]))
            .await
            .unwrap();
    }
}

/// A line for each queue: what no time changes.
async fn seen(backend: &FileBackend) -> String {
    let mut lines = String::new();
    for kind in QueueKind::ALL {
        let stored = backend.open_stored(&name(kind)).await.unwrap().unwrap();
        let counts = match kind {
            QueueKind::Rotating => {
                let list = Call::List(Page::first(1_000));
                let Answer::Items(items) = stored.queue.call(list).await.unwrap() else {
                    panic!("another answer")
                };
                format!("{} items", items.entries.len())
            }
            _ => {
                let counters = stored.queue.counters().await.unwrap();
                let (accepted, acked) = (counters.accepted, counters.acked);
                let depth = counters.depth;
                let kept = depth.ready + depth.delayed + depth.leased;
                format!(
                    "{accepted} accepted, {acked} acked, {} dead, {kept} kept",
                    depth.dead
                )
            }
        };
        lines += &format!("{kind}: {counts}\n");
    }
    lines
}

#[tokio::test]
async fn a_folder_of_format_1_is_opened() {
    if env::var("EXPECTED").is_ok_and(|value| value == "write") {
        write().await;
    }
    let folder = env::temp_dir().join(format!("queue-file-format-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let first = fixture().join("journal-000000000001");
    assert!(!first.exists(), "it has no stored states");
    for entry in fs::read_dir(fixture()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "expected" {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    let backend = FileBackend::open(&folder, SyncMode::Always).expect("opens");
    let expected = fs::read_to_string(fixture().join("expected")).unwrap();
    assert_eq!(seen(&backend).await, expected);
    drop(backend);
    fs::remove_dir_all(folder).unwrap();
}
