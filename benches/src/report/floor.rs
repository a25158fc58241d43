//! The machine's own script floor: the cost of Lua beside a round trip. Processors differ in it by far more than in the
//! cost of plain commands, and every call of ours is a script.

use std::time::{Duration, Instant};

use redis::{AsyncCommands, Script, aio::MultiplexedConnection};

use super::meter::Stage;
use crate::{kinds::BODY, pairs::spread};

/// The rate of EVALSHA of one RPUSH over that of RPUSH, one call in flight.
///
/// # Panics
///
/// If the server does not answer.
pub fn measure(stage: &Stage) -> f64 {
    let calls = stage.effort.pick(50, 1_000);
    let pairs = stage.effort.pick(3, 7);
    stage.named(|name| {
        let script = Script::new("return redis.call('RPUSH', KEYS[1], ARGV[1])");
        stage.fixture.runtime.block_on(async {
            let mut raw = stage.fixture.raw.clone();
            script.load_async(&mut raw).await.expect("it is loaded");
            let mut ratios = Vec::new();
            for _ in 0..pairs {
                let plain = plain(&mut raw, name, calls).await;
                let scripted = scripted(&mut raw, &script, name, calls).await;
                ratios.push(plain.as_secs_f64() / scripted.as_secs_f64());
            }
            spread(&ratios).median
        })
    })
}

async fn plain(raw: &mut MultiplexedConnection, key: &str, calls: usize) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        let _: i64 = raw.rpush(key, &BODY[..]).await.expect("pushed");
    }
    start.elapsed()
}

async fn scripted(
    raw: &mut MultiplexedConnection,
    script: &Script,
    key: &str,
    calls: usize,
) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        let mut call = script.key(key);
        let pushed = call.arg(&BODY[..]).invoke_async::<i64>(raw).await;
        pushed.expect("pushed");
    }
    start.elapsed()
}
