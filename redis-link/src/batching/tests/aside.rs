//! Callers that stop polling their futures, or drop them.

use std::pin::pin;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_unpolled_first_caller_blocks_no_other() {
    let (batcher, sent) = echo();
    let mut aside = pin!(batcher.submit(&[1]));
    assert!(aside.as_mut().now_or_never().is_none());
    let before = Instant::now();
    assert_eq!(batcher.submit(&[2]).await.unwrap(), [2]);
    assert_eq!(before.elapsed(), 2 * TRIP);
    sleep(10 * PATIENCE).await;
    // The caller is alone again, although nobody has polled the first future since.
    let before = Instant::now();
    assert_eq!(batcher.submit(&[3]).await.unwrap(), [3]);
    assert_eq!(before.elapsed(), TRIP);
    assert_eq!(aside.await.unwrap(), [1]);
    assert_eq!(*sent.lock().unwrap(), [[1], [2], [3]]);
}

#[tokio::test(start_paused = true)]
async fn unpolled_waiting_callers_block_no_other() {
    let (batcher, sent) = echo();
    let (mut first, mut second) = (pin!(batcher.submit(&[1])), pin!(batcher.submit(&[2])));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    assert_eq!(batcher.submit(&[3]).await.unwrap(), [3]);
    assert_eq!(batcher.submit(&[4]).await.unwrap(), [4]);
    assert_eq!(second.await.unwrap(), [2]);
    assert_eq!(first.await.unwrap(), [1]);
    assert_eq!(*sent.lock().unwrap(), [vec![1], vec![2, 3], vec![4]]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_holds_up_nobody_for_longer_than_their_patience() {
    let (batcher, _) = echo();
    // No timer ends it, as if its caller's runtime had a timer that nobody drives.
    let mut aside = pin!(batcher.submit(&[ENDLESS]));
    assert!(aside.as_mut().now_or_never().is_none());
    let before = Instant::now();
    // Sent just in time, or given up just before.
    let _ = batcher.submit(&[2]).await;
    assert!(before.elapsed() <= PATIENCE + TRIP);
    let before = Instant::now();
    assert_eq!(batcher.submit(&[3]).await.unwrap(), [3]);
    assert_eq!(before.elapsed(), TRIP);
    assert!(aside.now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn callers_keep_their_own_answers_when_another_is_dropped_mid_call() {
    const CALLERS: usize = 5;
    for dropped in 0..CALLERS {
        let (batcher, sent) = echo();
        let mut set = JoinSet::new();
        start(&mut set, &batcher, &[1_000]);
        tokio::task::yield_now().await;
        let mut handles = Vec::new();
        for caller in 0..CALLERS {
            // Batches of one, two or three entries, so that a wrong number of replies is noticed.
            let first = 10 * caller as u32;
            let batch: Vec<_> = (first..=first + caller as u32 % 3).collect();
            let (batcher, expected) = (Arc::clone(&batcher), batch.clone());
            let handle = set.spawn(async move { batcher.submit(&batch).await });
            handles.push((handle, expected));
        }
        sleep(TRIP + TRIP / 2).await;
        assert_eq!(sent.lock().unwrap().len(), 2, "they are all under way");
        let (gone, _) = handles.remove(dropped);
        gone.abort();
        let mut answers = std::collections::HashMap::new();
        while let Some(answer) = set.join_next_with_id().await {
            match answer {
                Ok((id, answer)) => drop(answers.insert(id, answer.unwrap())),
                Err(error) => assert_eq!(error.id(), gone.id()),
            }
        }
        for (handle, expected) in handles {
            assert_eq!(answers[&handle.id()], expected, "without {dropped}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_before_sending_is_never_sent() {
    let (batcher, sent, up) = with_outages();
    up.send_replace(false);
    {
        let (first, second) = (pin!(batcher.submit(&[1])), pin!(batcher.submit(&[2])));
        assert!(first.now_or_never().is_none());
        // From now on the task polls the first call, too.
        assert!(second.now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let mut third = pin!(batcher.submit(&[3]));
    assert!(third.as_mut().now_or_never().is_none());
    up.send_replace(true);
    assert_eq!(third.await.unwrap(), [3]);
    assert_eq!(*sent.lock().unwrap(), [[3]]);
}
