use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use queue_core::TokioSpawn;
use redis::{Cmd, Pipeline, RedisFuture, Value, aio::ConnectionLike};

use super::*;
use crate::connection::Link;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(2);
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

/// The lifetime of a connection; without a time, it does not open.
type Life = Option<Duration>;

/// Opens these connections, repeating the last one, and records the times.
struct DialScript {
    lives: Mutex<VecDeque<Life>>,
    dialled: watch::Sender<Vec<Instant>>,
}

#[derive(Clone)]
struct Mute;

impl ConnectionLike for Mute {
    fn req_packed_command<'a>(&'a mut self, _: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(std::future::pending())
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(std::future::pending())
    }

    fn get_db(&self) -> i64 {
        0
    }
}

#[async_trait]
impl Dial for DialScript {
    async fn dial(&self) -> Result<Channel> {
        self.dialled
            .send_modify(|dialled| dialled.push(Instant::now()));
        let mut lives = self.lives.lock().unwrap_or_else(PoisonError::into_inner);
        let life = lives.pop_front().unwrap_or(Some(FOR_EVER));
        let Some(life) = life else {
            return Err(Error::new(ErrorKind::Unavailable, "there is no server"));
        };
        let link = Link::driven(Mute, time::sleep(life), &TokioSpawn::default());
        Ok(Channel::new(link, FOR_EVER))
    }
}

/// The pauses between the openings of these connections.
async fn pauses(lives: impl IntoIterator<Item = Life>) -> Vec<Duration> {
    let lives: VecDeque<Life> = lives.into_iter().collect();
    let count = lives.len() + 1;
    let (publish, mut dialled) = watch::channel(Vec::new());
    let script = DialScript {
        lives: Mutex::new(lives),
        dialled: publish,
    };
    let backoff = Backoff::new(FIRST, LONGEST, 7);
    let spawn = TokioSpawn::default();
    let _supervised = Supervised::new(script, None, backoff, None, Alarm::default(), &spawn);
    let all = dialled.wait_for(|dialled| dialled.len() == count).await;
    let all = all.expect("it dials for ever");
    all.windows(2).map(|two| two[1] - two[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn pauses_restart_after_a_good_connection() {
    let life = 10 * SOUND;
    let failures = [None; 12];
    let pauses = pauses(failures.into_iter().chain([Some(life), None, None])).await;
    assert!(pauses[0] <= FIRST, "{pauses:?}");
    assert!(pauses[11] >= LONGEST / 2, "they have grown: {pauses:?}");
    let tick = Duration::from_millis(2);
    assert!(
        pauses[12] <= life + tick,
        "the next is opened at once: {pauses:?}"
    );
    assert!(pauses[13] <= FIRST + tick, "{pauses:?}");
    assert!(pauses[14] <= 2 * FIRST + tick, "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_at_once_does_not_count_as_sound() {
    let life = Duration::from_millis(1);
    let pauses = pauses([Some(life); 12]).await;
    assert!(pauses[11] >= LONGEST / 2, "they grow: {pauses:?}");
}
