//! L21: what a handler leaves for the next attempt.

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    environment::{Environment, SECOND},
    spy::Fault,
};

/// The state of the only message.
async fn stored(environment: &Environment) -> Option<Bytes> {
    let mut states = Vec::new();
    for place in Place::ALL {
        let page = environment.queue.peek(place, Page::first(9)).await.unwrap();
        states.extend(page.entries.into_iter().map(|peeked| peeked.state));
    }
    assert_eq!(states.len(), 1, "one message");
    states.remove(0)
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_the_state_that_the_last_one_set() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker();
    let handler = |_: u64, cx: Context| async move {
        let step = cx.state::<u32>().unwrap().unwrap_or(0);
        cx.set_state(&(step + 1)).unwrap();
        assert_eq!(cx.state::<u32>().unwrap(), Some(step + 1));
        match step {
            0 => Err(Failure::new("later")),
            1 => Err(Failure::defer("busy", SECOND)),
            _ => Ok(()),
        }
    };
    let counts = environment.work_off(worker, handler).await.counts;
    assert_eq!((counts.retried, counts.deferred, counts.acked), (1, 1, 1));
    let extends = environment.spy.watched().extends;
    assert_eq!(extends, 0, "a state that is only set costs no call");
}

#[tokio::test(start_paused = true)]
async fn a_saved_state_is_stored_when_the_call_returns() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().lease(9 * SECOND);
    let work = environment.work_off(worker, |_: u64, cx: Context| async move {
        cx.save_state("halfway").await.unwrap();
        sleep(5 * SECOND).await;
        cx.set_state("nearly").unwrap();
        sleep(5 * SECOND).await;
    });
    let look = async {
        sleep(SECOND).await;
        assert_eq!(stored(&environment).await, Some("\"halfway\"".into()));
        sleep(6 * SECOND).await;
        assert_eq!(stored(&environment).await, Some("\"halfway\"".into()));
    };
    tokio::join!(work, look);
}

#[tokio::test(start_paused = true)]
async fn saving_a_state_does_not_shorten_the_lease() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().lease(9 * SECOND);
    let work = environment.work_off(worker, |_: u64, cx: Context| async move {
        cx.extend(60 * SECOND).await.unwrap();
        cx.save_state(&1).await.unwrap();
        assert!(cx.remaining() > 59 * SECOND, "{:?}", cx.remaining());
    });
    work.await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_save_is_an_error_of_the_handler_and_goes_with_its_retry() {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoExtend);
    let worker = environment.worker().lease(9 * SECOND);
    let work = environment.work_off(worker, |_: u64, cx: Context| async move {
        if cx.attempt() > 1 {
            assert_eq!(cx.state::<String>().unwrap(), Some("set".to_owned()));
            return Ok(());
        }
        assert!(cx.save_state("saved").await.is_err());
        cx.set_state("set").unwrap();
        Err(Failure::new("again"))
    });
    let report = work.await;
    assert_eq!((report.counts.retried, report.counts.acked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_state_that_is_too_long_or_of_another_type_is_refused() {
    let cx = Context::for_test().state(&["a", "b"]).build();
    assert_eq!(cx.state::<u64>().unwrap_err().kind(), ErrorKind::Codec);
    let long = "x".repeat(limits::MAX_STATE);
    let error = cx.set_state(&long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("65538 bytes"), "{error}");
    assert!(cx.save_state(&long).await.is_err());
    cx.clear_state().unwrap();
    assert_eq!(cx.state::<u64>().unwrap(), None);
}
