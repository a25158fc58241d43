//! The opens that a recipe refuses, and the handles that a receipt works on.

use queue_core::*;

use crate::{
    ground::{Ground, end, leasing, name, push, take},
    recipes::{self, QUEUE, all},
};

#[tokio::test]
async fn a_key_of_another_type_is_named_at_open() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    for made in all(&ground.redis) {
        for (key, holds) in made.keys {
            let (word, found) = match *holds {
                "list" => ("SADD", "set"),
                _ => ("LPUSH", "list"),
            };
            let _: u64 = foreign.run(&[word, key, "somebody else's"]);
            let error = made.try_open(made.guarantees.kind).await.expect_err(key);
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            let text = error.to_string();
            assert!(
                text.contains(&format!("key {key} holds a {found}")),
                "{text}"
            );
            assert!(text.contains(holds), "{text}");
            assert_eq!(foreign.run::<u64>(&["DEL", key]), 1);
        }
        made.open().await;
        foreign.run::<String>(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn an_open_leaves_nothing_behind_but_a_streams_group() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        let _queue = made.open().await;
        let left = match made.guarantees.name {
            "stream" => vec!["stream q: ".to_owned()],
            _ => vec![],
        };
        assert_eq!(ground.dump(), left, "{}", made.guarantees.name);
        ground.foreign().run::<String>(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn a_recipe_has_its_own_kind_and_no_other() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        for kind in QueueKind::ALL {
            if kind == made.guarantees.kind {
                continue;
            }
            let error = made.try_open(kind).await.expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(
                error.to_string().contains(&format!("no {kind} queues")),
                "{error}"
            );
        }
        let once = made
            .backend
            .open_once(&name(QUEUE))
            .await
            .expect_err("refused");
        assert_eq!(once.kind(), ErrorKind::Configuration);
        let resized = made
            .backend
            .open_or_resize(&name(QUEUE), &BoundedConfig::new(3))
            .await;
        assert_eq!(
            resized.expect_err("refused").kind(),
            ErrorKind::Configuration
        );
        let listed = made
            .backend
            .queues(None, 9.try_into().expect("not zero"))
            .await;
        assert_eq!(listed.expect("it lists"), []);
        let too_many = made
            .backend
            .queues(None, 1_001.try_into().expect("not zero"))
            .await;
        assert_eq!(too_many.expect_err("refused").kind(), ErrorKind::Invalid);
        let warnings = made.backend.warnings();
        assert!(!warnings.is_empty(), "the server keeps nothing on disk");
        assert_eq!(warnings, Backend::warnings(&ground.redis));
    }
}

#[tokio::test]
async fn a_receipt_of_another_handle_is_a_lost_lease() {
    for (ground, made) in recipes::leasing().await {
        let (one, other) = (made.open().await, made.open().await);
        let ready = ready(&ground, &one).await;
        let receipt = ready.receipt;
        assert_eq!(
            end(&other, Settlement::ack(receipt)).await,
            Settled::LeaseLost
        );
        let extended = leasing(&other)
            .extend(&[receipt.into()], crate::ground::LONG)
            .await;
        assert_eq!(extended.expect("an answer"), [Extended::LeaseLost]);
        let extended = leasing(&one)
            .extend(&[receipt.into()], crate::ground::LONG)
            .await;
        assert_eq!(extended.expect("an answer"), [Extended::Extended]);
        assert_eq!(end(&one, Settlement::ack(receipt)).await, Settled::Done);
        assert_eq!(
            end(&one, Settlement::ack(receipt)).await,
            Settled::LeaseLost,
            "done is done"
        );
        let extended = leasing(&one)
            .extend(&[receipt.into()], crate::ground::LONG)
            .await;
        assert_eq!(extended.expect("an answer"), [Extended::LeaseLost]);
    }
}

/// Pushes a message and takes it.
async fn ready(ground: &Ground, queue: &AnyQueue) -> Delivery {
    push(queue, &["m"]).await;
    ground.distribute();
    take(queue, 1).await.remove(0)
}
