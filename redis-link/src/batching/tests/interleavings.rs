//! The batcher in many interleavings of threads, while time stands still: no timer makes up for a lost wake-up.

use std::{future::poll_fn, pin::pin, task::Poll};

use futures_util::future::{AbortHandle, abortable};
use queue_core::{Running, Task};
use queue_testing::interleave::{JoinHandle, block_on, sampled, spawn, step};

use super::*;

/// Replies to each number with itself, one step later.
struct Next {
    sent: Sent,
}

#[async_trait]
impl SendBatch for Next {
    type Request = u32;
    type Reply = u32;

    const MOST: BatchLimit = MOST;

    async fn send_batch(&self, entries: &[u32]) -> Result<Vec<u32>> {
        self.sent.lock().unwrap().push(entries.to_vec());
        let mut sent = false;
        poll_fn(|context| {
            if std::mem::replace(&mut sent, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        Ok(entries.to_vec())
    }

    fn size(entry: &u32) -> usize {
        *entry as usize
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn unsent(&self) -> Error {
        unreachable!("time stands still")
    }
}

/// Runs each task on its own thread, and can end it.
#[derive(Debug, Clone, Default)]
struct OnThreads(Arc<Mutex<Vec<AbortHandle>>>);

impl OnThreads {
    fn end(&self) {
        for task in &*self.0.lock().unwrap() {
            task.abort();
        }
    }
}

impl Spawn for OnThreads {
    fn spawn(&self, task: Task) -> Running {
        let (task, handle) = abortable(task);
        self.0.lock().unwrap().push(handle.clone());
        spawn(move || {
            let _ = block_on(task);
        });
        Running::new(move || handle.abort())
    }
}

type Subject = Arc<Batcher<Next>>;

fn subject() -> (Subject, Sent) {
    let (subject, sent, _) = with_room(LINE_BYTES);
    (subject, sent)
}

fn with_room(room: usize) -> (Subject, Sent, OnThreads) {
    let (sent, threads) = (Sent::default(), OnThreads::default());
    let verb = Next {
        sent: Arc::clone(&sent),
    };
    let subject = Batcher {
        shared: Arc::new(BatcherState::new(verb, room)),
        patience: PATIENCE,
        spawn: Arc::new(threads.clone()),
        running: OnceLock::new(),
    };
    (Arc::new(subject), sent, threads)
}

/// A caller that sends a number and must get it back.
fn sender(subject: &Subject, number: u32) -> JoinHandle<()> {
    let subject = Arc::clone(subject);
    spawn(move || assert_eq!(block_on(subject.submit(&[number])).unwrap(), [number]))
}

/// The sent numbers, in order of size.
fn all_of(sent: &Sent) -> Vec<u32> {
    let mut all = sent.lock().unwrap().concat();
    all.sort_unstable();
    all
}

#[test]
fn each_gets_its_own_answer_and_is_sent_once() {
    sampled(|| {
        let (subject, sent) = subject();
        let other = sender(&subject, 1);
        assert_eq!(block_on(subject.submit(&[2])).unwrap(), [2]);
        other.join().unwrap();
        assert_eq!(all_of(&sent), [1, 2]);
    });
}

#[test]
fn an_unpolled_caller_blocks_no_other() {
    sampled(|| {
        let (subject, sent) = subject();
        // The second time, the task exists already and is idle.
        for _ in 0..2 {
            let other = sender(&subject, 1);
            let mut aside = pin!(subject.submit(&[2]));
            let polled = aside.as_mut().now_or_never();
            // The other caller does not need this one to be polled again.
            other.join().unwrap();
            let answer = polled.unwrap_or_else(|| block_on(aside));
            assert_eq!(answer.unwrap(), [2]);
        }
        assert_eq!(all_of(&sent), [1, 1, 2, 2]);
    });
}

#[test]
fn a_dropped_caller_blocks_no_other() {
    sampled(|| {
        let (subject, sent) = subject();
        let other = sender(&subject, 1);
        {
            let mut dropped = pin!(subject.submit(&[2]));
            let _ = dropped.as_mut().now_or_never();
            step();
        }
        other.join().unwrap();
        let all = all_of(&sent);
        assert!(all == [1] || all == [1, 2], "{all:?}");
    });
}

#[test]
fn a_caller_waits_for_room_in_a_full_batcher() {
    sampled(|| {
        // With room for one waiting caller.
        let (subject, sent, _) = with_room(1);
        let mut first = pin!(subject.submit(&[1]));
        assert!(first.as_mut().now_or_never().is_none());
        let second = sender(&subject, 2);
        assert_eq!(block_on(subject.submit(&[3])).unwrap(), [3]);
        second.join().unwrap();
        assert_eq!(block_on(first).unwrap(), [1]);
        assert_eq!(all_of(&sent), [1, 2, 3]);
    });
}

#[test]
fn a_caller_that_comes_as_the_task_ends_gets_an_answer_or_an_error() {
    sampled(|| {
        let (subject, _, threads) = with_room(LINE_BYTES);
        let mut first = pin!(subject.submit(&[1]));
        assert!(first.as_mut().now_or_never().is_none());
        let other = {
            let subject = Arc::clone(&subject);
            spawn(move || {
                // The task exists from now on.
                let submitted = block_on(subject.submit(&[2]));
                if let Ok(answer) = submitted {
                    assert_eq!(answer, [2]);
                }
            })
        };
        step();
        threads.end();
        other.join().unwrap();
        assert_eq!(block_on(first).unwrap(), [1]);
    });
}
