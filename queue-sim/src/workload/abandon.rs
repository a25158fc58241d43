//! Waits that a caller gives up: the caller is gone, and its hint is for others.

use std::future::Future;

use queue_core::Result;

use super::{
    actor::Actor,
    goals,
    interrupt::{Cut, CutPoint, UpTo},
};

/// The awaits at which a caller gives up a wait. The last of them is the sleep itself.
const AWAITS: u32 = 4;

/// Begins a wait and drops it at one of four points: before the wait has begun at the backend, while it begins, while
/// it sleeps, or when a hint has come that the wait has not seen yet.
pub(super) async fn abandon(actor: &Actor, wait: impl Future<Output = Result<()>> + Send) {
    let at = 1 + actor.choose(AWAITS);
    let when = match actor.choose(3) {
        0 => CutPoint::AtOnce,
        1 => CutPoint::Woken,
        _ => CutPoint::After(actor.span()),
    };
    // The answer does not matter: after any wait, a caller polls.
    let mut wait = Box::pin(async {
        let _ = wait.await;
    });
    if UpTo::new(wait.as_mut(), at, when).await == Cut::Here {
        actor.reached(goals::ABANDONED_WAIT);
    }
}
