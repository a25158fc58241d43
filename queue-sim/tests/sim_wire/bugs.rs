//! The ways to plant bugs: other scripts, and other requests.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use queue_core::{call::Answer, *};
use queue_sim::{
    history::Event,
    plan::{Decisions, Process},
    wire::{RedisEnvironment, Reply, Request, Rewrite, Steps},
};

use crate::set::{SECOND, name, play, play_as};

#[test]
fn a_script_can_be_another_than_the_client_knows() {
    let mut environment = RedisEnvironment::builder()
        .with_scripts(|name, text| {
            let replaced = || text.replace("local call = redis.call", "if true then return 7 end");
            (name == "reliable/discard").then(replaced)
        })
        .start()
        .unwrap();
    play(&mut environment, &[], "v1:", async |set| {
        let queue = set.reliable(1).await;
        let _pushed = queue.push_one("a").await.unwrap();
        let id = [MessageId::new(1)];
        assert_eq!(queue.discard(&id).await.unwrap(), 7);
        assert_eq!(queue.depth().await.unwrap().ready, 1);
    });
}

#[test]
fn a_script_that_does_not_compile_is_reported_at_once() {
    let replaced = RedisEnvironment::builder().with_scripts(|_, _| Some("retrun 1".to_owned()));
    let error = replaced.start().unwrap_err();
    assert!(error.to_string().contains("compiling"), "{error}");
}

/// Forgets the queue right before the first push arrives.
#[derive(Debug, Default)]
struct Flushes(AtomicBool);

#[async_trait]
impl Rewrite for Flushes {
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        if request.script == Some("reliable/push") && !self.0.swap(true, Ordering::Relaxed) {
            steps.command(&["FLUSHALL"]).await;
        }
        None
    }
}

#[test]
fn a_call_that_creates_its_queue_again_is_executed_once() {
    let environment = RedisEnvironment::builder().with_rewrite(Flushes::default());
    let mut environment = environment.start().unwrap();
    let history = play(&mut environment, &[], "v1:", async |set| {
        let queue = set.reliable(1).await;
        let _pushed = queue.push_one("a").await.unwrap();
        assert_eq!(queue.depth().await.unwrap().ready, 1);
    });
    assert_eq!(history.records[0].executed.len(), 1);
}

/// Checks for room, and takes it in another step, at any capacity.
#[derive(Debug)]
struct ChecksThenPushes;

#[async_trait]
impl Rewrite for ChecksThenPushes {
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        if request.script != Some("bounded/push") {
            return None;
        }
        let [meta, ready] = [0, 7].map(|key| request.keys()[key].clone());
        let found = steps.command(&[&b"LLEN"[..], &ready]).await;
        if found.number() > Some(0) {
            return None;
        }
        let stored = [&b"HSET"[..], &meta, b"capacity"];
        steps.command(&[&stored[..], &[b"9"]].concat()).await;
        let reply = steps.run(&request).await;
        steps.executed();
        steps.command(&[&stored[..], &[b"1"]].concat()).await;
        Some(reply)
    }
}

#[test]
fn steps_of_one_request_interleave_with_others_and_lengths_are_seen_between() {
    let environment = RedisEnvironment::builder().with_rewrite(ChecksThenPushes);
    let mut environment = environment.start().unwrap();
    let longest = |seed| {
        let history = play_as(
            &mut environment,
            &[],
            Decisions::seeded(seed),
            async |set| {
                let executor = set.context.executor.clone();
                for process in 2..=3 {
                    let set = set.clone();
                    let push = async move {
                        let backend = set.backend(process).await;
                        let config = BoundedConfig::new(1);
                        let queue = backend.open_bounded(&name(), &config).await.unwrap();
                        // Both results are right, full or not.
                        let _ = queue.push_one("a").await;
                    };
                    executor.spawn(Process(process), Box::pin(push));
                }
                tokio::time::sleep(SECOND).await;
            },
        );
        for record in &history.records {
            assert_eq!(record.executed.len(), 1, "{record:?}");
        }
        let lengths = history.events.iter().filter_map(|(_, event)| match event {
            Event::Length(queue, length) if *queue == name() => Some(*length),
            _ => None,
        });
        lengths.max()
    };
    let lengths: BTreeSet<_> = (0..40).filter_map(longest).collect();
    assert_eq!(lengths, BTreeSet::from([1, 2]));
}

/// Answers with another reply.
#[derive(Debug)]
struct Forges;

#[async_trait]
impl Rewrite for Forges {
    async fn rewrite(&self, request: Request, _steps: &Steps<'_>) -> Option<Reply> {
        let forged = Reply::integer(3);
        (request.script == Some("reliable/discard")).then_some(forged)
    }
}

#[test]
fn a_forged_reply_counts_as_executed() {
    let mut environment = RedisEnvironment::builder()
        .with_rewrite(Forges)
        .start()
        .unwrap();
    let history = play(&mut environment, &[], "v1:", async |set| {
        let queue = set.reliable(1).await;
        let _ = queue.discard(&[MessageId::new(1)]).await.unwrap();
    });
    assert_eq!(history.records[0].answer(), Some(&Answer::Count(3)));
    assert_eq!(history.records[0].executed.len(), 1);
}
