//! Several tries for one result, under one deadline: if one is slow, the next one begins in parallel (RFC 8305).

use std::{future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time;

/// How long each of `count` tries runs before the next one begins in parallel: `usual`, or less, so that all have begun
/// by the middle of `limit`.
pub fn head_start(usual: Duration, limit: Duration, count: usize) -> Duration {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    usual.min(limit / 2 / count)
}

/// Returns the first success, and drops the other tries. The tries begin in order: the next one begins when one has
/// failed, or after `head_start`.
///
/// # Errors
///
/// All errors, in the order in which the tries failed.
pub async fn race<T, E, F>(
    tries: impl IntoIterator<Item = F>,
    head_start: Duration,
) -> Result<T, Vec<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut left = tries.into_iter().peekable();
    let mut begun = FuturesUnordered::new();
    let mut errors = Vec::new();
    loop {
        begun.extend(left.next());
        tokio::select! {
            biased;
            ended = begun.next() => match ended {
                Some(Ok(first)) => return Ok(first),
                Some(Err(error)) => errors.push(error),
                None => return Err(errors),
            },
            () = time::sleep(head_start), if left.peek().is_some() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::future::BoxFuture;
    use tokio::time::Instant;

    use super::*;

    const STEP: Duration = Duration::from_millis(250);

    type Try = BoxFuture<'static, Result<u32, u32>>;

    fn hangs() -> Try {
        Box::pin(pending())
    }

    fn takes(time: Duration, end: Result<u32, u32>) -> Try {
        Box::pin(async move {
            time::sleep(time).await;
            end
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_hangs_costs_a_head_start() {
        let start = Instant::now();
        let won = race([hangs(), hangs(), takes(STEP / 2, Ok(3))], STEP).await;
        assert_eq!(won, Ok(3));
        assert_eq!(start.elapsed(), 2 * STEP + STEP / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_fails_costs_no_more_than_its_own_time() {
        let start = Instant::now();
        let tries = [takes(STEP / 5, Err(1)), takes(STEP / 5, Ok(2))];
        assert_eq!(race(tries, STEP).await, Ok(2));
        assert_eq!(start.elapsed(), 2 * (STEP / 5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_try_still_wins_if_the_next_one_fails() {
        let tries = [takes(3 * STEP, Ok(1)), takes(STEP, Err(2))];
        assert_eq!(race(tries, STEP).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_try_wins_within_its_head_start() {
        let tries = [takes(STEP / 2, Ok(1)), takes(Duration::ZERO, Ok(2))];
        assert_eq!(race(tries, STEP).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn every_error_is_returned() {
        let tries = [takes(STEP, Err(1)), takes(STEP, Err(2))];
        assert_eq!(race(tries, 10 * STEP).await, Err(vec![1, 2]));
        assert_eq!(race(Vec::<Try>::new(), STEP).await, Err(Vec::new()));
    }

    #[test]
    fn all_tries_begin_within_half_of_the_limit() {
        let limit = Duration::from_secs(5);
        assert_eq!(head_start(STEP, limit, 1), STEP);
        assert_eq!(head_start(STEP, limit, 10), STEP);
        for (limit, count) in [(limit, 100), (Duration::from_millis(100), 2)] {
            let count = u32::try_from(count).expect("few");
            let all = head_start(STEP, limit, count as usize) * count;
            assert!(all <= limit / 2, "{all:?}");
        }
    }
}
