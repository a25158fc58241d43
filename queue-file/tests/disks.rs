//! Full disks, damaged ones, and the room that a journal takes.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, Delivery, ErrorKind, LeasingExt, Outcome, Push, ReliableConfig, ReliableQueue,
    Settlement, Timestamp,
};
use queue_file::{Disk, FileBackend, SyncMode, simulated::SimulatedDisk};

const SEGMENT: u64 = 64 * 1024;
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const LEASE: Duration = Duration::from_secs(60);

async fn open(disk: &SimulatedDisk) -> queue_core::Result<(FileBackend, Arc<dyn ReliableQueue>)> {
    let backend =
        FileBackend::with_segments(Arc::new(disk.clone()), SyncMode::Always, SEGMENT, NOW)?;
    let queue = named(&backend, "jobs").await?;
    Ok((backend, queue))
}

async fn named(backend: &FileBackend, name: &str) -> queue_core::Result<Arc<dyn ReliableQueue>> {
    backend
        .open_reliable(&name.parse()?, &ReliableConfig::default())
        .await
}

async fn push(queue: &dyn ReliableQueue, bytes: usize) -> queue_core::Result<()> {
    queue.push(&[Push::new(vec![7; bytes])]).await.map(drop)
}

/// Leases and acks a message; returns false if none is ready.
async fn work(queue: &dyn ReliableQueue) -> bool {
    let leased = queue.lease(1.try_into().unwrap(), LEASE).await.unwrap();
    let acks: Vec<_> = leased
        .deliveries
        .iter()
        .map(|each| Settlement::ack(each.receipt))
        .collect();
    if acks.is_empty() {
        return false;
    }
    queue.settle(&acks).await.unwrap();
    true
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_pushes_lets_work_go_on_and_takes_pushes_again() {
    let disk = SimulatedDisk::new(1);
    disk.set_room(Some(6 * SEGMENT));
    let (backend, queue) = open(&disk).await.unwrap();
    let mut pushed = 0;
    let refused = loop {
        match push(&*queue, 1_000).await {
            Ok(()) => pushed += 1,
            Err(error) => break error,
        }
        assert!(pushed < 1_000, "the disk is never full");
    };
    assert!(pushed > 200, "only {pushed}");
    assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
    assert_eq!(refused.outcome(), Outcome::NotApplied);
    assert!(
        refused
            .to_string()
            .contains("the disk of the simulated disk is full"),
        "{refused}"
    );
    let facts = backend.facts(&"jobs".parse().unwrap()).await.unwrap();
    let why = facts.server.unwrap().refuses_writes.unwrap();
    assert!(why.contains("the disk is full"), "{why}");
    let mut worked = 0;
    while work(&*queue).await {
        worked += 1;
    }
    assert_eq!(worked, pushed);
    push(&*queue, 1_000).await.expect("there is room again");
    drop((backend, queue));
    let (_backend, queue) = open(&disk.restart()).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn a_folder_has_twice_the_bytes_of_its_messages_and_four_segments() {
    let disk = SimulatedDisk::new(2);
    let (backend, queue) = open(&disk).await.unwrap();
    let others = named(&backend, "others").await.unwrap();
    // A queue that gets nothing more keeps no record of another one.
    push(&*others, 500).await.unwrap();
    let mut most = 0;
    for round in 0..3_000_u64 {
        push(&*queue, 1_000).await.unwrap();
        let live = queue.depth().await.unwrap().occupied() * 1_100;
        if round % 600 > 300 {
            work(&*queue).await;
            work(&*queue).await;
        }
        most = most.max(live);
        // And once more the largest queue, while its state is stored.
        assert!(
            disk.used() <= 3 * most.max(live) + 4 * SEGMENT,
            "{} for {live}",
            disk.used()
        );
    }
    while work(&*queue).await {}
    for _ in 0..200 {
        push(&*queue, 1_000).await.unwrap();
        work(&*queue).await;
    }
    assert!(disk.used() <= 4 * SEGMENT, "{} for nothing", disk.used());
    drop((backend, queue, others));
    let (backend, queue) = open(&disk.restart()).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 0);
    let others = named(&backend, "others").await.unwrap();
    assert_eq!(others.depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn a_flipped_bit_in_what_was_durable_is_refused_with_its_place() {
    let disk = SimulatedDisk::new(3);
    let (backend, queue) = open(&disk).await.unwrap();
    for _ in 0..10 {
        push(&*queue, 50).await.unwrap();
    }
    drop((backend, queue));
    let (file, written) = disk.written()[0];
    let whole = disk.read(file, u64::MAX).unwrap();
    // The last record may be a torn end, as far as anybody can tell.
    let last = written - 110;
    for place in 0..last {
        let damaged = disk.restart();
        damaged.flip(file, place, (place % 8) as u8);
        let before = damaged.read(file, u64::MAX).unwrap();
        // The header of a journal with one segment is one that was never written.
        if place < 32 {
            continue;
        }
        let error = open(&damaged)
            .await
            .expect_err(&format!("byte {place} of {last}"));
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(
            error.to_string().contains("journal-000000000001, at byte"),
            "{error}"
        );
        assert_eq!(
            damaged.read(file, u64::MAX).unwrap(),
            before,
            "it was changed"
        );
    }
    assert_eq!(disk.restart().read(file, u64::MAX).unwrap(), whole);
}

/// Tasks push at the same time until the power fails: returns what was answered, and the queue on the disk after it.
async fn pushed_until_the_power_fails(
    seed: u64,
    sync: SyncMode,
) -> (Vec<String>, (FileBackend, Arc<dyn ReliableQueue>)) {
    let disk = SimulatedDisk::new(seed);
    let backend = FileBackend::on_disk(Arc::new(disk.clone()), sync).unwrap();
    let queue = named(&backend, "jobs").await.unwrap();
    disk.crash_at(disk.operations() + seed % 40);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..6 {
        let queue = Arc::clone(&queue);
        tasks.spawn(async move {
            let mut answered = Vec::new();
            loop {
                // Records of several sectors, which are torn within.
                let body = format!("{task}-{}-{:0700}", answered.len(), 0);
                match queue.push(&[Push::new(body.clone())]).await {
                    Ok(_) => answered.push(body),
                    Err(_) => return answered,
                }
            }
        });
    }
    let answered = tasks.join_all().await.concat();
    let backend = FileBackend::on_disk(Arc::new(disk.restart()), sync);
    let backend = backend.unwrap_or_else(|error| panic!("seed {seed}, {sync:?}: {error}"));
    let queue = named(&backend, "jobs").await.unwrap();
    (answered, (backend, queue))
}

#[tokio::test(start_paused = true)]
async fn a_torn_group_of_records_loses_nothing_that_was_answered_and_leaves_no_hole() {
    for seed in 0..400 {
        for sync in [SyncMode::Always, SyncMode::Never] {
            let (answered, (_backend, queue)) = pushed_until_the_power_fails(seed, sync).await;
            let mut found = Vec::new();
            loop {
                let received = queue.receive(100, LEASE, Duration::ZERO).await.unwrap();
                if received.is_empty() {
                    break;
                }
                let body = |delivery: &Delivery| String::from_utf8(delivery.body.to_vec()).unwrap();
                found.extend(received.iter().map(body));
            }
            if sync == SyncMode::Always {
                let lost = answered.iter().find(|body| !found.contains(body));
                assert_eq!(lost, None, "seed {seed}");
            }
            // Each task pushes in order, so its messages have no gap.
            for task in 0..6 {
                let of_task = found
                    .iter()
                    .filter(|body| body.starts_with(&format!("{task}-")));
                for (number, body) in of_task.enumerate() {
                    assert!(
                        body.starts_with(&format!("{task}-{number}-")),
                        "seed {seed}, {sync:?}: {body}"
                    );
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_handle_is_dead_after_a_failed_sync() {
    let disk = SimulatedDisk::new(4);
    let (_backend, queue) = open(&disk).await.unwrap();
    push(&*queue, 10).await.unwrap();
    disk.fail_sync_after(0);
    let unknown = push(&*queue, 10).await.unwrap_err();
    assert_eq!(
        (unknown.kind(), unknown.outcome()),
        (ErrorKind::Unavailable, Outcome::Unknown)
    );
    let refused = push(&*queue, 10).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.outcome()),
        (ErrorKind::Unavailable, Outcome::NotApplied)
    );
    assert!(
        refused.to_string().contains("an error of the device"),
        "{refused}"
    );
    let read = queue.depth().await.unwrap_err();
    assert_eq!(read.kind(), ErrorKind::Unavailable);
    let (_backend, queue) = open(&disk.restart()).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 1);
    assert!(
        !queue
            .receive(1, LEASE, Duration::ZERO)
            .await
            .unwrap()
            .is_empty()
    );
}
