//! The last few gifts of a live stream, which many clients push at once: a list that must never
//! exceed its length.

use std::time::Duration;

use queue_core::{Bounded, BoundedConfig, Overflow};
use queue_sim::sim::{BoxError, Rules, Run, Sim, sim};

/// The number of gifts in the feed.
const SHOWN: usize = 3;

/// The feed on queue-kit.
async fn give(run: Run) -> Result<(), BoxError> {
    let feed: Bounded<String> = run.queues().bounded("gifts", SHOWN).await?;
    for gift in 0..3 {
        let gift = format!("gift {gift} of lane {}", run.lane());
        feed.push(&gift, Overflow::DropOldest).await?;
    }
    Ok(())
}

async fn show(run: Run) -> Result<(), BoxError> {
    let feed: Bounded<String> = run.queues().bounded("gifts", SHOWN).await?;
    for _ in 0..6 {
        let shown = feed.recent(10).await?.len();
        assert!(
            shown <= SHOWN,
            "the feed shows {shown} gifts, {SHOWN} at most"
        );
        run.sleep(Duration::from_millis(u64::from(run.choose(3))))
            .await;
    }
    Ok(())
}

fn feed() -> Sim {
    let config = BoundedConfig::new(SHOWN);
    sim("gift feed")
        .bounded::<String>("gifts", config)
        .and()
        .lane("giver 1", give)
        .lane("giver 2", give)
        .lane("giver 3", give)
        .lane("viewer", show)
        .check(Rules::all())
        .seeds(100)
}

#[test]
fn ours_never_shows_too_many() {
    feed()
        .faults(queue_sim::sim::Chaos::none())
        .try_run()
        .expect("it holds");
}

#[cfg(all(unix, feature = "redis"))]
mod on_redis {
    use queue_sim::{sim::Chaos, wire::RedisEnvironment};
    use redis::AsyncCommands;

    use super::*;

    /// The feed as programs often write it by hand: three commands, each of them atomic.
    async fn give_by_hand(run: Run) -> Result<(), BoxError> {
        let mut redis = run.redis().await?;
        for gift in 0..3 {
            let gift = format!("gift {gift} of lane {}", run.lane());
            let length: usize = redis.llen("gifts").await?;
            if length >= SHOWN {
                let _: Option<String> = redis.lpop("gifts", None).await?;
            }
            let _: usize = redis.rpush("gifts", gift).await?;
        }
        Ok(())
    }

    async fn show_by_hand(run: Run) -> Result<(), BoxError> {
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

    fn environment() -> RedisEnvironment {
        RedisEnvironment::start().expect("a redis-server")
    }

    #[test]
    fn three_commands_show_too_many() {
        let broken = sim("gift feed by hand")
            .backend(environment)
            .lane("giver 1", give_by_hand)
            .lane("giver 2", give_by_hand)
            .lane("giver 3", give_by_hand)
            .lane("viewer", show_by_hand)
            .faults(Chaos::none())
            .try_run()
            .expect_err("it overflows");
        println!("{broken}");
        assert!(
            broken.message.contains("the feed shows 4 gifts, 3 at most"),
            "{broken}"
        );
        assert!(broken.message.contains("LLEN gifts -> :"), "{broken}");
    }

    #[test]
    fn ours_never_shows_too_many() {
        feed()
            .backend(environment)
            .faults(Chaos::none())
            .try_run()
            .expect("it holds");
    }
}
