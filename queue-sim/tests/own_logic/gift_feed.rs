//! The last few gifts of a live stream, pushed by many clients at once, as programs often implement it: a
//! list that must never exceed its length, and does.

use std::time::Duration;

use queue_sim::{
    sim::{BoxError, FaultSet, Run, sim},
    wire::RedisEnvironment,
};
use redis::AsyncCommands;

/// The number of gifts in the feed.
const SHOWN: usize = 3;

/// Three commands, each of them atomic.
async fn give(run: Run) -> Result<(), BoxError> {
    let mut redis = run.redis().await?;
    for gift in 0..3 {
        let gift = format!("gift {gift} of process {}", run.process());
        let length: usize = redis.llen("gifts").await?;
        if length >= SHOWN {
            let _: Option<String> = redis.lpop("gifts", None).await?;
        }
        let _: usize = redis.rpush("gifts", gift).await?;
    }
    Ok(())
}

async fn show(run: Run) -> Result<(), BoxError> {
    let mut redis = run.redis().await?;
    for _ in 0..6 {
        let shown: usize = redis.llen("gifts").await?;
        assert!(
            shown <= SHOWN,
            "the feed shows {shown} gifts, {SHOWN} at most"
        );
        run.sleep(Duration::from_millis(u64::from(run.choose(3))))
            .await;
    }
    Ok(())
}

#[test]
fn three_commands_show_too_many() {
    let broken = sim("gift feed by hand")
        .backend(|| RedisEnvironment::start().expect("a redis-server"))
        .process("giver 1", give)
        .process("giver 2", give)
        .process("giver 3", give)
        .process("viewer", show)
        .faults(FaultSet::none())
        .try_run()
        .expect_err("it overflows");
    println!("{broken}");
    assert!(
        broken.message.contains("the feed shows 4 gifts, 3 at most"),
        "{broken}"
    );
    assert!(broken.message.contains("LLEN gifts -> :"), "{broken}");
}
