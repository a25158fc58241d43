//! How long callers wait before the task sends their entries, and how many may wait.

use tokio::sync::oneshot;

use super::*;
use crate::batching::backlog::{Backlog, QueuedRequests};

/// A small batch of the largest possible size.
const LARGE: u32 = SMALL_BYTES as u32;

#[tokio::test(start_paused = true)]
async fn an_unsent_request_times_out_and_a_sent_one_waits_for_its_answer() {
    let (batcher, sent, up) = with_outages();
    let mut set = JoinSet::new();
    let start_of_all = Instant::now();
    start(&mut set, &batcher, &[1]);
    tokio::task::yield_now().await;
    start(&mut set, &batcher, &[2]);
    // The call of the second caller is in progress when the outage begins, and stays so.
    sleep(TRIP + TRIP / 2).await;
    up.send_replace(false);
    assert_eq!(set.join_next().await.unwrap().unwrap().unwrap(), [1]);
    sleep(PATIENCE / 3).await;
    let before = Instant::now();
    start(&mut set, &batcher, &[3]);
    let error = set.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(error.to_string(), "not in time");
    assert_eq!(before.elapsed(), PATIENCE);
    up.send_replace(true);
    assert_eq!(set.join_next().await.unwrap().unwrap().unwrap(), [2]);
    assert!(start_of_all.elapsed() > PATIENCE);
    assert_eq!(*sent.lock().unwrap(), [[1], [2]]);
}

#[tokio::test(start_paused = true)]
async fn callers_wait_for_room_in_a_full_backlog() {
    let (batcher, sent, up) = with_outages();
    up.send_replace(false);
    let callers = LINE_BYTES / SMALL_BYTES + 100;
    let mut set = JoinSet::new();
    for _ in 0..callers {
        start(&mut set, &batcher, &[LARGE]);
    }
    sleep(PATIENCE / 2).await;
    // The first caller sends alone, and some wait for room.
    let waiting = batcher.shared.waiting();
    assert!(waiting < callers - 50, "{waiting} of {callers} are in line");
    assert!(
        waiting > callers - 150,
        "{waiting} of {callers} are in line"
    );
    up.send_replace(true);
    while let Some(answer) = set.join_next().await {
        assert_eq!(answer.unwrap().unwrap(), [LARGE]);
    }
    // Callers that waited for room joined as soon as there was some: each call but the last is as large as possible.
    let most = MOST.bytes / SMALL_BYTES;
    let sent = sent.lock().unwrap();
    let calls: Vec<usize> = sent.iter().map(Vec::len).collect();
    assert_eq!(calls, [1, most, most, most, most, callers - 1 - 4 * most]);
}

/// Joins a backlog with these entries, if there is room.
fn join(line: &mut Backlog<Echo>, entries: &[u32]) -> Option<u64> {
    let (answer, _) = oneshot::channel();
    let entries = entries.to_vec();
    line.join(QueuedRequests { entries, answer }).ok()
}

#[test]
fn entries_without_a_body_take_room_too() {
    let three = 3 * SMALL * size_of::<u32>();
    let mut line = Backlog::new(three);
    let first = join(&mut line, &[0; SMALL]).expect("nobody else is there");
    assert!(join(&mut line, &[0; SMALL]).is_some());
    assert!(join(&mut line, &[0; SMALL]).is_some());
    assert!(join(&mut line, &[0; SMALL]).is_none());
    assert!(line.leave(first).is_some());
    assert!(join(&mut line, &[0; SMALL]).is_some());
    assert!(join(&mut line, &[0; SMALL]).is_none());
}

#[test]
fn one_call_takes_no_more_bytes_than_a_batch_may_have() {
    let half = MOST.bytes as u32 / 2;
    let mut line = Backlog::new(usize::MAX);
    for bytes in [half, half, 1, half] {
        join(&mut line, &[bytes]).expect("there is room");
    }
    let mut calls = Vec::new();
    while !line.is_empty() {
        calls.push(line.next_batch().len());
    }
    assert_eq!(calls, [2, 2]);
}

#[test]
fn one_call_takes_no_more_entries_than_a_batch_may_have() {
    let mut line = Backlog::new(usize::MAX);
    // Eight times 16 entries are a full batch; 112, 15 and 2 would be one too many.
    let callers = [&[SMALL; 8][..], &[SMALL; 7], &[15, 2]].concat();
    for entries in callers {
        join(&mut line, &vec![0; entries]).expect("there is room");
    }
    let mut calls = Vec::new();
    while !line.is_empty() {
        calls.push(line.next_batch().len());
    }
    assert_eq!(calls, [8, 8, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_room_counts_toward_the_timeout() {
    let (batcher, sent, up) = with_outages();
    up.send_replace(false);
    let mut set = JoinSet::new();
    for _ in 0..LINE_BYTES / SMALL_BYTES + 100 {
        start(&mut set, &batcher, &[LARGE]);
    }
    let before = Instant::now();
    // Only the sender can give up the first call.
    while set.len() > 1 {
        let error = set.join_next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert!(error.is_transient());
        assert_eq!(before.elapsed(), PATIENCE);
    }
    assert_eq!(batcher.shared.waiting(), 0);
    up.send_replace(true);
    assert!(set.join_next().await.unwrap().unwrap().is_ok());
    assert_eq!(sent.lock().unwrap().concat(), [LARGE]);
}

#[test]
fn callers_of_an_ended_task_get_an_error_and_then_send_alone() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    };
    let sent = Sent::default();
    let verb = Echo {
        sent: Arc::clone(&sent),
        given_back: Mutex::default(),
        up: watch::channel(true).1,
    };
    // Nobody drives this runtime, and it ends before any caller's patience does.
    let elsewhere = runtime();
    let spawn = Arc::new(TokioSpawn::on(elsewhere.handle().clone()));
    let batcher = Arc::new(Batcher::new(verb, 100 * PATIENCE, spawn));
    runtime().block_on(async {
        let mut set = JoinSet::new();
        for n in 1..4 {
            start(&mut set, &batcher, &[n]);
        }
        assert_eq!(set.join_next().await.unwrap().unwrap().unwrap(), [1]);
        elsewhere.shutdown_background();
        while let Some(answer) = set.join_next().await {
            let error = answer.unwrap().unwrap_err();
            assert_eq!(error.outcome(), Outcome::NotApplied);
            assert!(error.to_string().contains("stopped"), "{error}");
        }
        for n in 4..6 {
            assert_eq!(batcher.submit(&[n]).await.unwrap(), [n]);
        }
    });
    assert_eq!(*sent.lock().unwrap(), [[1], [4], [5]]);
}
