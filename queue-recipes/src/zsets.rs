//! The parts that strategies on sorted sets share. Scores are due times. A message is due if its score is now or less,
//! also below 0: another producer may have written such a score.

use queue_core::{Depth, Result};
use redis::{FromRedisValue, cmd};

use crate::server::Connection;

/// The lowest score of due members.
const LEAST: &str = "-inf";

/// Takes up to `most` due members: the client that removes a member has claimed it.
pub(crate) async fn claim<T>(
    server: &Connection,
    key: &str,
    until: u64,
    most: usize,
) -> Result<Vec<T>>
where
    T: FromRedisValue + AsRef<[u8]> + Send + Sync,
{
    let mut look = cmd("ZRANGEBYSCORE");
    look.arg(key).arg(LEAST).arg(until);
    look.arg("LIMIT").arg(0).arg(most);
    let seen: Vec<T> = server.ask(&look).await?;
    let claims = seen.iter();
    let claims = claims.map(|member| cmd("ZREM").arg(key).arg(member.as_ref()).take());
    let claimed: Vec<u64> = server.pipeline(claims.collect()).await?;
    let ours = seen.into_iter().zip(claimed).filter(|(_, n)| *n == 1);
    Ok(ours.map(|(member, _)| member).collect())
}

/// The depth of a sorted set whose scores up to `until` are due.
pub(crate) async fn depth(server: &Connection, key: &str, until: u64) -> Result<Depth> {
    let due = cmd("ZCOUNT").arg(key).arg(LEAST).arg(until).take();
    let all = cmd("ZCARD").arg(key).take();
    let counts: Vec<u64> = server.pipeline(vec![due, all]).await?;
    Ok(Depth::new(
        counts[0],
        counts[1].saturating_sub(counts[0]),
        0,
        0,
    ))
}
