//! Contexts without a worker, as a test of a handler makes them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::{Instant, sleep, timeout};

use crate::environment::{HOUR, MILLI, SECOND};

#[test]
fn a_context_of_a_test_needs_no_runtime_and_shows_a_first_attempt() {
    let cx = Context::for_test().build();
    assert_eq!((cx.queue(), cx.id().get(), cx.attempt()), ("test", 1, 1));
    assert_eq!(cx.receipt(), Receipt::new(cx.id(), cx.token()));
    assert!(cx.headers().is_empty());
    assert!(cx.remaining() <= 30 * SECOND);
    assert_eq!((cx.cut_off(), cx.stop()), (None, None));
    assert_eq!(
        (cx.age(), cx.is_last_attempt()),
        (Some(Duration::ZERO), false)
    );
    assert_eq!((cx.priority(), cx.group()), (None, None));
    let cx = Context::for_test().last_attempt().age(HOUR);
    let cx = cx.priority(-3).group("customer-7").build();
    assert_eq!((cx.age(), cx.is_last_attempt()), (Some(HOUR), true));
    assert_eq!(cx.priority(), Some(-3));
    assert_eq!(cx.group(), Some(&Bytes::from_static(b"customer-7")));
}

#[tokio::test(start_paused = true)]
async fn a_handler_sees_the_age_and_the_value_of_its_message_and_its_last_attempt() {
    let queues = Queues::new(MemoryBackend::new());
    let config = PriorityConfig::default().with_max_attempts(2);
    let mails = queues
        .priority("mails")
        .config(config)
        .open::<u64>()
        .await
        .unwrap();
    mails.push(&1, 7).await.unwrap();
    sleep(SECOND).await;
    let queue = Arc::clone(mails.queue());
    let dead = async move {
        while queue.depth().await.unwrap().dead == 0 {
            sleep(MILLI).await;
        }
    };
    let views = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&views);
    let handler = move |_: u64, cx: Context| {
        let view = (cx.age(), cx.is_last_attempt(), cx.priority());
        seen.lock().unwrap().push(view);
        async { Err::<(), _>(Failure::retry_after("no paper", SECOND)) }
    };
    Worker::new(mails).run_until(dead, handler).await.unwrap();
    let expected = [
        (Some(SECOND), false, Some(7)),
        (Some(2 * SECOND), true, Some(7)),
    ];
    assert_eq!(*views.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_context_of_a_test_shows_what_the_test_asked_for() {
    let cx = Context::for_test()
        .named("mails")
        .id(MessageId::new(7))
        .token(Token::new(9))
        .attempt(3)
        .headers(Headers::new().with("tenant", "acme"))
        .header("language", "en")
        .lease(10 * SECOND)
        .timeout(5 * SECOND)
        .build();
    assert_eq!((cx.queue(), cx.attempt()), ("mails", 3));
    assert_eq!(cx.receipt(), Receipt::new(MessageId::new(7), Token::new(9)));
    assert_eq!(cx.headers().get("tenant"), Some("acme"));
    assert_eq!(cx.headers().get("language"), Some("en"));
    // A millisecond less, as in a worker.
    assert_eq!(cx.remaining(), 10 * SECOND - MILLI);
    let now = Instant::now().into_std();
    assert_eq!(cx.deadline(), now + cx.remaining());
    assert_eq!(cx.cut_off(), Some(now + 5 * SECOND));
    sleep(4 * SECOND).await;
    assert_eq!(cx.remaining(), 6 * SECOND - MILLI);
    let endless = Context::for_test().lease(Duration::MAX);
    let endless = endless.timeout(Duration::MAX).build();
    assert_eq!(endless.remaining(), 24 * HOUR - MILLI);
    assert_eq!(endless.cut_off(), None);
}

#[tokio::test(start_paused = true)]
async fn nothing_ends_the_lease_of_a_test_but_the_test() {
    let (cx, worker) = Context::for_test().timeout(SECOND).build_with_worker();
    assert!(timeout(HOUR, cx.stopped()).await.is_err());
    assert_eq!((cx.remaining(), cx.stop()), (Duration::ZERO, None));
    let view = cx.clone();
    let start = Instant::now();
    let shutdown = async {
        sleep(SECOND).await;
        worker.stop(Stop::Shutdown);
    };
    let (stop, ()) = tokio::join!(view.stopped(), shutdown);
    assert_eq!((stop, start.elapsed()), (Stop::Shutdown, SECOND));
    assert_eq!(cx.stop(), Some(Stop::Shutdown));
    worker.stop(Stop::LeaseLost);
    worker.stop(Stop::Shutdown);
    assert_eq!(cx.stop(), Some(Stop::LeaseLost));
    // A context whose worker handle was dropped is never stopped.
    let alone = Context::for_test().build();
    assert!(timeout(HOUR, alone.stopped()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_handler_in_a_test_extends_its_lease_until_that_is_lost() {
    let (cx, worker) = Context::for_test().build_with_worker();
    let refused = cx.extend(Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let view = cx.clone();
    cx.extend(100 * SECOND).await.unwrap();
    assert_eq!(view.remaining(), 100 * SECOND - MILLI);
    // Like a worker, it assumes that its own lease is the shortest.
    cx.extend(SECOND).await.unwrap();
    assert_eq!(view.remaining(), 30 * SECOND - MILLI);
    worker.stop(Stop::Shutdown);
    cx.extend(40 * SECOND).await.unwrap();
    worker.stop(Stop::LeaseLost);
    let lost = cx.extend(50 * SECOND).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::LeaseLost);
    assert_eq!(view.remaining(), 40 * SECOND - MILLI);
}
