//! The task that moves due messages of all topics from the sets to the lists.

use std::time::Duration;

use queue_core::Result;
use redis::cmd;
use tokio::time;

use super::keys::{ACTIVE_TOPICS, WAITING_TOPICS, active_of};
use crate::server::Connection;

const DISTRIBUTE: &str = "\
local val = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, ARGV[3])
if next(val) == nil then return 0 end
redis.call('sadd', KEYS[2], ARGV[2])
redis.call('zremrangebyrank', KEYS[1], 0, #val - 1)
for i = 1, #val, 100 do
  redis.call('rpush', KEYS[3], unpack(val, i, math.min(i + 99, #val)))
end
return 1";

pub(super) struct Distributor {
    pub(super) server: Connection,
    /// The time between two rounds.
    pub(super) tick: Duration,
    /// The most messages of a topic that one round moves.
    pub(super) batch: usize,
}

impl Distributor {
    pub(super) async fn run(self) {
        loop {
            time::sleep(self.tick).await;
            // The next round repeats what this round could not do.
            let _ = self.round().await;
        }
    }

    async fn round(&self) -> Result<()> {
        let topics: Vec<String> = self.server.ask(cmd("SMEMBERS").arg(WAITING_TOPICS)).await?;
        for waiting in topics {
            // One topic's error, such as a key of another type, must not stop the other topics.
            let _ = self.distribute(&waiting).await;
        }
        Ok(())
    }

    async fn distribute(&self, waiting: &str) -> Result<()> {
        let there: bool = self.server.ask(cmd("EXISTS").arg(waiting)).await?;
        if !there {
            let mut forget = cmd("SREM");
            forget.arg(WAITING_TOPICS).arg(waiting);
            let _removed: u64 = self.server.ask(&forget).await?;
            return Ok(());
        }
        let Some(active) = active_of(waiting) else {
            return Ok(());
        };
        let now = self.server.now().as_millis();
        let keys = [waiting, ACTIVE_TOPICS, &active];
        let arguments = (now, &active, self.batch);
        let _moved: u64 = self.server.eval(DISTRIBUTE, &keys, arguments).await?;
        Ok(())
    }
}
