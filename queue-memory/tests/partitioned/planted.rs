//! Mistakes between a queue and its partitions, which the suite must find.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use async_trait::async_trait;
use queue_conformance::InVirtualTime;
use queue_core::{
    Backend, Layered, Leased, QueueKind, QueueName, Receipt, Result, Settlement,
    call::{Answer, Call, Layer, Service},
};

use crate::{memory, on};

/// The mistake in the calls to the first partition.
#[derive(Debug, Clone, Copy)]
enum Mistake {
    /// Settlements carry another message's id, as those for another partition would.
    SettlesAnother,
    /// Nobody waits on it.
    WaitsElsewhere,
    /// Leases leave it out.
    LeavesOut,
    /// It forgets that it is paused with the others.
    NotPaused,
}

#[async_trait]
impl Layer for Mistake {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        match (self, call) {
            (_, call) if !name.as_str().contains("--0of3-") => queue.call(call).await,
            (Self::SettlesAnother, Call::Settle(batch)) => {
                let another = |one: Settlement| {
                    let id = queue_core::MessageId::new(one.receipt.id.get() + 1);
                    Settlement::new(Receipt::new(id, one.receipt.token), one.disposition)
                };
                let batch = batch.into_iter().map(another).collect();
                queue.call(Call::Settle(batch)).await
            }
            (Self::WaitsElsewhere, Call::WaitForArrival(longest)) => {
                tokio::time::sleep(longest).await;
                Ok(Answer::Nothing)
            }
            (Self::LeavesOut, Call::Lease(..)) => Ok(Answer::Leased(Leased::nothing(None))),
            (Self::NotPaused, Call::Pause) => Ok(Answer::Nothing),
            (_, call) => queue.call(call).await,
        }
    }
}

/// Whether the suite's case holds with this mistake, or without any.
fn holds(mistake: Option<Mistake>, case: &str) -> bool {
    let make = move || {
        let backend = match mistake {
            Some(mistake) => Arc::new(Layered::new(mistake, memory())) as Arc<dyn Backend>,
            None => memory(),
        };
        on(&backend, 3)
    };
    let harness = InVirtualTime::new(make).only([QueueKind::Reliable]);
    let played = catch_unwind(AssertUnwindSafe(|| queue_conformance::run(&harness, case)));
    if let Ok(ending) = &played {
        assert_eq!(*ending, queue_conformance::Ending::Played);
    }
    played.is_ok()
}

#[test]
fn the_suite_finds_mistakes_between_a_queue_and_its_partitions() {
    for (mistake, case) in [
        (
            Mistake::SettlesAnother,
            "l3_an_acked_message_is_never_delivered_again",
        ),
        (Mistake::WaitsElsewhere, "waiting_a_push_wakes_a_consumer"),
        (
            Mistake::LeavesOut,
            "l5_what_goes_in_comes_out_and_nothing_else",
        ),
        (
            Mistake::NotPaused,
            "operators_a_paused_queue_hands_out_nothing",
        ),
    ] {
        let case = format!("reliable::{case}");
        assert!(holds(None, &case), "{case} without a mistake");
        assert!(
            !holds(Some(mistake), &case),
            "{case} does not find {mistake:?}"
        );
    }
}
