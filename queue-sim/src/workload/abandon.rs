//! Waits that are given up: whoever waited is gone, and what it was to be told is for others.

use std::future::Future;

use queue_core::Result;

use super::{
    actor::Actor,
    goals,
    interrupt::{Cut, UpTo, When},
};

/// The awaits at which a wait is given up. The last of them is the sleep itself.
const AWAITS: u32 = 4;

/// Waits, and is dropped: before the wait has begun at the backend, in the middle of beginning, while
/// it sleeps, or when it was told and has not seen it yet.
pub(super) async fn abandon(actor: &Actor, wait: impl Future<Output = Result<()>> + Send) {
    let at = 1 + actor.choose(AWAITS);
    let when = match actor.choose(3) {
        0 => When::AtOnce,
        1 => When::Woken,
        _ => When::After(actor.span()),
    };
    // Its answer says nothing: whoever waits looks, whatever it was told.
    let mut wait = Box::pin(async {
        let _ = wait.await;
    });
    if UpTo::new(wait.as_mut(), at, when).await == Cut::Here {
        actor.reached(goals::ABANDONED_WAIT);
    }
}
