//! Stores of once keys: O1 to O5.

mod claims;
mod done;
mod run;
mod store;

use std::{sync::Arc, time::Duration};

use queue_core::*;

pub(super) use self::{claims::*, done::*, run::*, store::*};
use crate::stage::{Stage, ms, name};

/// The key of a case that needs only one.
const KEY: &[u8] = b"order-42";
/// A claim or mark that outlives its case.
const LONG: Duration = Duration::from_secs(3600);

async fn open(stage: &Stage<'_>) -> Arc<dyn OnceStore> {
    let store = stage.backend().open_once(&name("effects")).await;
    store.expect("opens")
}

/// The same store through another client.
async fn open_again(stage: &Stage<'_>) -> Arc<dyn OnceStore> {
    let client = stage.connect().await;
    client.open_once(&name("effects")).await.expect("opens")
}

/// Claims a key, which must be free, for the given number of milliseconds.
async fn claimed(store: &dyn OnceStore, key: &[u8], millis: u64) -> Token {
    match store.claim(key, ms(millis)).await.expect("claims") {
        Claim::Claimed(token) => token,
        other => panic!("{key:?} is not free: {other:?}"),
    }
}

/// The answer to claiming a key that must not be free.
async fn found(store: &dyn OnceStore, key: &[u8]) -> Claim {
    let found = store.claim(key, LONG).await.expect("claims");
    assert!(!matches!(found, Claim::Claimed(_)), "{key:?} is free");
    found
}

const fn busy(millis: u64) -> Claim {
    Claim::Busy { left: ms(millis) }
}

/// Fails unless the call was refused as `ClaimLost` and certainly changed nothing.
#[track_caller]
fn lost<T: std::fmt::Debug>(answer: Result<T>) {
    crate::steps::refused_as(ErrorKind::ClaimLost, answer, &["live claim"]);
}

/// Fails if any of a holder's verbs works with this token.
async fn powerless(store: &dyn OnceStore, key: &[u8], token: Token) {
    lost(store.extend(key, token, LONG).await);
    lost(store.finish(key, token, LONG).await);
    lost(store.release(key, token).await);
}
