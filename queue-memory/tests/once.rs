//! Heartbeats of a claim, in virtual time.

use std::time::Duration;

use queue_core::*;
use queue_memory::MemoryBackend;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

async fn once() -> Once {
    let queues = Queues::new(MemoryBackend::new());
    queues.once("once").await.unwrap().with_claim(3 * SECOND)
}

#[tokio::test(start_paused = true)]
async fn heartbeats_hold_a_claim_while_its_effect_runs() {
    let once = once().await;
    let long = |_| async {
        sleep(60 * SECOND).await;
        Ok::<_, Error>(7)
    };
    let beating = once.clone().with_heartbeats();
    let others = async {
        for _ in 0..59 {
            sleep(SECOND).await;
            let other = once.run("key", |_| async { Ok::<_, Error>(8) }).await;
            assert!(matches!(other, Ok(OnceRun::Busy { .. })), "{other:?}");
        }
    };
    let (ran, ()) = tokio::join!(beating.run("key", long), others);
    assert!(matches!(ran, Ok(OnceRun::Ran(7))), "{ran:?}");
    // Without them the claim ends before the effect.
    let ran = once.run("other", long).await;
    assert!(matches!(ran, Ok(OnceRun::Unrecorded { .. })), "{ran:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_ends_soon_after_its_run_was_dropped() {
    let once = once().await.with_heartbeats();
    let endless = |_| std::future::pending::<Result<()>>();
    let run = once.run("key", endless);
    assert!(timeout(60 * SECOND, run).await.is_err());
    sleep(3 * SECOND).await;
    let ran = once.run("key", |_| async { Ok::<_, Error>(8) }).await;
    assert!(matches!(ran, Ok(OnceRun::Ran(8))), "{ran:?}");
}

#[tokio::test(start_paused = true)]
async fn an_effect_whose_claim_somebody_ended_goes_on_and_is_unrecorded() {
    let once = once().await.with_heartbeats();
    let store = once.store();
    let ran = once.run("key", |claim| async move {
        sleep(SECOND).await;
        store.release(claim.key(), claim.token()).await?;
        sleep(10 * SECOND).await;
        Ok::<_, Error>(7)
    });
    let ran = ran.await;
    assert!(
        matches!(&ran, Ok(OnceRun::Unrecorded { value: 7, .. })),
        "{ran:?}"
    );
}
