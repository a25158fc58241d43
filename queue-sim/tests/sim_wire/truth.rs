//! The truth about calls whose callers do not know the outcome.

use std::{future::Future, pin::pin, task::Poll, time::Duration};

use queue_core::*;
use queue_sim::{
    engine::yield_now,
    history::{CallEnd, Event, Record},
    plan::Decisions,
    wire::RedisEnvironment,
    world::{EPOCH, Fault},
};
use tokio::time;

use crate::set::{LEASE_TIME, SECOND, lease_one, name, play, play_as};

/// Makes one push in a fresh world, while this fault strikes. Returns the number of ready messages a minute
/// later.
fn struck(environment: &mut RedisEnvironment, fault: Fault, plan: &str) -> (Record, u64) {
    let history = play(environment, &[fault], plan, async |set| {
        let queue = set.reliable(1).await;
        time::sleep(SECOND).await;
        set.step(1, 1);
        let _ = queue.push_one("a").await;
        time::sleep(60 * SECOND).await;
        // The client replaces a half-open connection after two silent requests.
        if queue.depth().await.is_err() {
            time::sleep(SECOND).await;
            let _ = queue.depth().await.unwrap();
        }
    });
    let last = history.records.last().unwrap();
    let Some(queue_core::call::Answer::Depth(depth)) = last.answer() else {
        panic!("{last:?}");
    };
    (history.records[0].clone(), depth.ready)
}

#[test]
fn a_caller_is_unsure_where_it_has_to_be_and_the_history_is_not() {
    let mut environment = RedisEnvironment::start().unwrap();
    // The client gives up after 43 ms; a late request comes 1 ms later.
    for (fault, plan, certain, ends, executed) in [
        (Fault::RequestLost, "v1:1.1.request=1", false, 43, &[][..]),
        (Fault::Delayed, "v1:1.1.request=2", true, 1, &[1]),
        (Fault::Late, "v1:1.1.request=3", false, 43, &[44]),
        (Fault::Cut, "v1:1.1.request=4", false, 0, &[]),
        (Fault::Repeated, "v1:1.1.request=5", true, 0, &[0, 0]),
        (Fault::ReplyLost, "v1:1.1.reply=1", false, 43, &[0]),
        (Fault::Delayed, "v1:1.1.reply=2", true, 1, &[0]),
        (Fault::Cut, "v1:1.1.reply=3", false, 0, &[0]),
        (Fault::CutInFrame, "v1:1.1.reply=4", false, 0, &[0]),
    ] {
        let (record, ready) = struck(&mut environment, fault, plan);
        let Some(ended) = &record.ended else {
            panic!("{fault}: {record:?}");
        };
        let unknown = CallEnd::Unknown(ErrorKind::Unavailable, String::new());
        let same = std::mem::discriminant(&ended.outcome) == std::mem::discriminant(&unknown);
        assert_eq!(same, !certain, "{fault}: {record:?}");
        assert_eq!(record.answer().is_some(), certain, "{fault}");
        let time = |at: Timestamp| at.as_millis() - EPOCH.as_millis() - 1_000;
        assert_eq!(time(ended.at.at), ends, "{fault}");
        let executions = record.executed.iter();
        let executions: Vec<u64> = executions.map(|moment| time(moment.at)).collect();
        assert_eq!(executions, executed, "{fault}");
        assert_eq!(ready, executed.len() as u64, "{fault}");
    }
}

#[test]
fn a_dropped_call_is_known_to_have_been_executed_or_not() {
    let mut environment = RedisEnvironment::start().unwrap();
    // The number of dropped pushes that were executed never, and once.
    let mut dropped = [0; 2];
    for seed in 0..20 {
        let decisions = Decisions::seeded(seed);
        let history = play_as(&mut environment, &[], decisions, async |set| {
            let queue = set.reliable(1).await;
            for polls in 1..8 {
                let mut push = pin!(queue.push_one("a"));
                for _ in 0..polls {
                    let polled = std::future::poll_fn(|cx| Poll::Ready(push.as_mut().poll(cx)));
                    if polled.await.is_ready() {
                        break;
                    }
                    yield_now().await;
                }
            }
            time::sleep(Duration::from_millis(1)).await;
            let _ = queue.depth().await.unwrap();
        });
        let (depth, pushes) = history.records.split_last().unwrap();
        let Some(queue_core::call::Answer::Depth(depth)) = depth.answer() else {
            panic!("{depth:?}");
        };
        let executed = pushes.iter().map(|push| push.executed.len() as u64);
        assert_eq!(depth.ready, executed.sum::<u64>(), "{seed}");
        for push in pushes {
            if push.ended.as_ref().unwrap().outcome == CallEnd::Dropped {
                dropped[push.executed.len()] += 1;
            }
        }
    }
    assert!(dropped.iter().all(|count| *count > 0), "{dropped:?}");
}

/// A reply tells the consumer that marks end with their messages here; the consumer sends its call again
/// with the marks' keys.
#[test]
fn a_call_that_is_asked_for_more_keys_is_executed_once() {
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[], "v1:", async |set| {
        let producer = set.reliable(1).await;
        let unique = || Push::new("a").with_unique("k", SECOND);
        let _pushed = producer.push_one(unique()).await.unwrap();
        let consumer = set.reliable(1).await;
        let delivery = lease_one(&*consumer, LEASE_TIME).await.unwrap();
        consumer.ack(delivery.receipt).await.unwrap();
        let again = producer.push_one(unique()).await.unwrap();
        assert_eq!(again, Pushed::Accepted(MessageId::new(2)));
    });
    for record in &history.records {
        assert_eq!(record.executed.len(), 1, "{record:?}");
    }
}

/// A message that is cancelled in the middle of a list leaves a hole there.
#[test]
fn cancelled_messages_do_not_count_in_a_bounded_queues_length() {
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[], "v1:", async |set| {
        let backend = set.backend(1).await;
        let config = BoundedConfig::new(3);
        let queue = backend.open_bounded(&name(), &config).await.unwrap();
        for body in ["a", "b", "c"] {
            let _pushed = queue.push_one(body).await.unwrap();
        }
        let cancelled = queue.cancel_one(MessageId::new(2)).await.unwrap();
        assert_eq!(cancelled, Cancelled::Cancelled);
    });
    let mut lengths = history.events.iter().filter_map(|(_, event)| match event {
        Event::Length(_, length) => Some(*length),
        _ => None,
    });
    assert_eq!(lengths.next_back(), Some(2));
}
