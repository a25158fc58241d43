//! The batcher over a sender that takes a round trip and replies to each entry with itself, in virtual time.

mod aside;
mod interleavings;
mod patience;
mod refusals;

use std::{sync::Mutex, time::Duration};

use futures_util::FutureExt;
use queue_core::TokioSpawn;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::*;

const TRIP: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(3);

const MOST: BatchLimit = BatchLimit {
    entries: 128,
    bytes: 8 * 1024 * 1024,
};
/// The room of a backlog.
const LINE_BYTES: usize = ROOM * MOST.bytes;

/// A call with this entry never ends.
const ENDLESS: u32 = 7_777;

/// Replies to each number with itself, a round trip later, and records the numbers.
struct Echo {
    sent: Sent,
    given_back: Mutex<Vec<u32>>,
    /// Whether the sender can send; calls in progress wait, too.
    up: watch::Receiver<bool>,
}

type Sent = Arc<Mutex<Vec<Vec<u32>>>>;

impl Echo {
    async fn is_up(&self) {
        // An error means that the state does not change any more.
        let _ = self.up.clone().wait_for(|up| *up).await;
    }
}

#[async_trait]
impl SendBatch for Echo {
    type Request = u32;
    type Reply = u32;

    const MOST: BatchLimit = MOST;

    async fn send_batch(&self, entries: &[u32]) -> Result<Vec<u32>> {
        self.is_up().await;
        self.sent.lock().unwrap().push(entries.to_vec());
        sleep(TRIP).await;
        self.is_up().await;
        assert_ne!(entries[0], 666, "as planned");
        if entries.contains(&ENDLESS) {
            std::future::pending::<()>().await;
        }
        if entries.contains(&1_313) {
            return Err(Error::new(ErrorKind::OutOfMemory, "1313"));
        }
        Ok(entries.to_vec())
    }

    fn size(entry: &u32) -> usize {
        *entry as usize
    }

    async fn give_back(&self, answers: Vec<u32>) {
        self.given_back.lock().unwrap().extend(answers);
    }

    async fn ready(&self) -> Result<()> {
        self.is_up().await;
        Ok(())
    }

    fn unsent(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "not in time")
    }
}

fn echo() -> (Arc<Batcher<Echo>>, Sent) {
    let (batcher, sent, up) = with_outages();
    drop(up);
    (batcher, sent)
}

/// The same, and a channel that sets whether the sender can send.
fn with_outages() -> (Arc<Batcher<Echo>>, Sent, watch::Sender<bool>) {
    let sent = Sent::default();
    let (is_up, up) = watch::channel(true);
    let verb = Echo {
        sent: Arc::clone(&sent),
        given_back: Mutex::default(),
        up,
    };
    let spawn = Arc::new(TokioSpawn::default());
    (Arc::new(Batcher::new(verb, PATIENCE, spawn)), sent, is_up)
}

fn start(set: &mut JoinSet<Result<Vec<u32>>>, batcher: &Arc<Batcher<Echo>>, batch: &[u32]) {
    let (batcher, batch) = (Arc::clone(batcher), batch.to_vec());
    set.spawn(async move { batcher.submit(&batch).await });
}

#[tokio::test(start_paused = true)]
async fn a_lone_caller_sends_at_once_without_a_task() {
    let (batcher, sent) = echo();
    for n in 0..3 {
        let before = Instant::now();
        assert_eq!(batcher.submit(&[n]).await.unwrap(), [n]);
        assert_eq!(before.elapsed(), TRIP);
    }
    assert_eq!(*sent.lock().unwrap(), [[0], [1], [2]]);
    assert!(batcher.running.get().is_none());
}

#[tokio::test(start_paused = true)]
async fn callers_that_come_meanwhile_share_a_call_and_get_their_own_answers() {
    let (batcher, sent) = echo();
    let mut set = JoinSet::new();
    for n in 0..64 {
        start(&mut set, &batcher, &[2 * n, 2 * n + 1]);
    }
    let before = Instant::now();
    while let Some(answer) = set.join_next().await {
        let answer = answer.unwrap().unwrap();
        assert_eq!(answer, [answer[0], answer[0] + 1]);
    }
    assert_eq!(before.elapsed(), 2 * TRIP);
    let sent = sent.lock().unwrap();
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [2, 126]);
    assert_eq!(sent.concat(), (0..128).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn callers_that_return_with_each_answer_share_calls_and_a_later_lone_caller_sends_at_once() {
    let (batcher, sent) = echo();
    let mut set = JoinSet::new();
    for rounds in [2, 3, 3] {
        let batcher = Arc::clone(&batcher);
        set.spawn(async move {
            for _ in 0..rounds {
                batcher.submit(&[1]).await.unwrap();
            }
        });
    }
    while let Some(done) = set.join_next().await {
        done.unwrap();
    }
    let calls = |sent: &Sent| -> Vec<usize> { sent.lock().unwrap().iter().map(Vec::len).collect() };
    assert_eq!(calls(&sent), [1, 3, 2, 2]);
    // The task is idle by then, so a lone caller sends its own entries again.
    sleep(TRIP).await;
    let mut alone = std::pin::pin!(batcher.submit(&[2]));
    assert!(alone.as_mut().now_or_never().is_none());
    assert_eq!(batcher.shared.waiting(), 0);
    assert_eq!(alone.await.unwrap(), [2]);
}

#[tokio::test(start_paused = true)]
async fn no_batch_is_larger_than_one_call_may_be() {
    let (batcher, sent) = echo();
    let mut set = JoinSet::new();
    for n in 0..200 {
        start(&mut set, &batcher, &[n]);
        start(&mut set, &batcher, &[60_000]);
    }
    while let Some(answer) = set.join_next().await {
        answer.unwrap().unwrap();
    }
    let sent = sent.lock().unwrap();
    assert_eq!(sent.concat().len(), 400);
    assert!(sent.len() > 400 / MOST.entries);
    for batch in sent.iter() {
        assert!(batch.len() <= MOST.entries);
        let bytes: usize = batch.iter().map(Echo::size).sum();
        assert!(bytes <= MOST.bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_batch_is_sent_alone_and_at_once() {
    let (batcher, sent) = echo();
    let mut set = JoinSet::new();
    start(&mut set, &batcher, &[1]);
    start(&mut set, &batcher, &[7; SMALL + 1]);
    let before = Instant::now();
    while set.join_next().await.is_some() {}
    assert_eq!(before.elapsed(), TRIP);
    assert_eq!(sent.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_caller_fails_no_other() {
    let (batcher, sent) = echo();
    let mut set = JoinSet::new();
    // The sending caller is dropped half-way; so is a caller that is not sent yet.
    let first = batcher.submit(&[1]);
    assert!(
        timeout(TRIP / 2, async {
            tokio::join!(first, async {
                start(&mut set, &batcher, &[2]);
                start(&mut set, &batcher, &[3]);
                assert!(timeout(TRIP / 4, batcher.submit(&[4])).await.is_err());
            })
        })
        .await
        .is_err()
    );
    let mut answers = Vec::new();
    while let Some(answer) = set.join_next().await {
        answers.extend(answer.unwrap().unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, [2, 3]);
    assert_eq!(*sent.lock().unwrap(), [vec![1], vec![2, 3]]);
    // So is a caller whose entries are being sent with others.
    start(&mut set, &batcher, &[5]);
    tokio::task::yield_now().await;
    start(&mut set, &batcher, &[6]);
    let dropped = timeout(TRIP + TRIP / 2, batcher.submit(&[7]));
    assert!(dropped.await.is_err());
    while let Some(answer) = set.join_next().await {
        answer.unwrap().unwrap();
    }
    assert_eq!(batcher.submit(&[8]).await.unwrap(), [8]);
    assert_eq!(*batcher.sender().given_back.lock().unwrap(), [7]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_is_given_back() {
    let (batcher, _) = echo();
    let mut set = JoinSet::new();
    start(&mut set, &batcher, &[1]);
    tokio::task::yield_now().await;
    let mut aside = Box::pin(batcher.submit(&[2]));
    assert!(timeout(TRIP / 2, &mut aside).await.is_err());
    // Its reply comes meanwhile, and nobody polls the future any more.
    sleep(3 * TRIP).await;
    assert!(batcher.sender().given_back.lock().unwrap().is_empty());
    drop(aside);
    sleep(TRIP).await;
    assert_eq!(*batcher.sender().given_back.lock().unwrap(), [2]);
    // Replies that a caller took are not given back, either.
    assert_eq!(batcher.submit(&[3]).await.unwrap(), [3]);
    set.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(batcher.sender().given_back.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_caller_in_a_call_gets_its_error() {
    let (batcher, _) = echo();
    let mut set = JoinSet::new();
    for n in 1_312..1_315 {
        start(&mut set, &batcher, &[n]);
    }
    let mut failed = 0;
    while let Some(answer) = set.join_next().await {
        if let Err(error) = answer.unwrap() {
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            failed += 1;
        }
    }
    assert_eq!(failed, 2);
    assert!(batcher.submit(&[1]).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn only_callers_in_a_call_get_its_panic() {
    let (batcher, _) = echo();
    let mut set = JoinSet::new();
    start(&mut set, &batcher, &[1]);
    tokio::task::yield_now().await;
    start(&mut set, &batcher, &[666]);
    start(&mut set, &batcher, &[2]);
    assert!(set.join_next().await.unwrap().unwrap().is_ok());
    for _ in 0..2 {
        let error = set.join_next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert!(error.to_string().contains("as planned"), "{error}");
    }
    for n in 0..3 {
        start(&mut set, &batcher, &[n]);
    }
    while let Some(answer) = set.join_next().await {
        assert!(answer.unwrap().is_ok());
    }
}
