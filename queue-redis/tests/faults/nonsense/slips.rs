//! A proxy drops one reply, or doubles one: every later reply would belong to another request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_redis::{Builder, RedisBackend};
use real_redis::Server;
use redis::Connection;
use tokio::{task::JoinSet, time::sleep};

use super::peer::{Peer, Spoil};
use crate::{
    ground::{until, within},
    patient::patient,
};

const LEASE: Duration = Duration::from_secs(600);
/// The number of messages of the queue that is read.
const THERE: u64 = 3;
/// Replies are in step again after this number of right answers in a row.
const RIGHT: u64 = 50;
/// The largest number of wrong answers to each caller until then.
const WRONG: u64 = 20;

fn to(peer: &Peer) -> Builder {
    let url = format!("redis://127.0.0.1:{}", peer.port());
    // The last reply of all may be the lost one: only silence tells.
    patient(&url).response_timeout(Duration::from_secs(5))
}

async fn queue(backend: &RedisBackend, name: &str) -> Arc<dyn ReliableQueue> {
    let name = QueueName::new(name).expect("a good name");
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config);
    queue.await.expect("it opens")
}

/// A count of the server.
fn counted(direct: &mut Connection, section: &str, field: &str) -> u64 {
    let info: String = redis::cmd("INFO")
        .arg(section)
        .query(direct)
        .expect("it tells");
    let value = |line: &str| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned());
    let value = info.lines().find_map(value);
    let digits = value
        .as_deref()
        .map(|value| value.trim_start_matches("calls="));
    let digits = digits.and_then(|value| value.split(',').next());
    digits.map_or(0, |digits| digits.parse().expect("a number"))
}

/// A caller's right and wrong answers since the slip.
#[derive(Debug, Default)]
struct Seen {
    wrong: AtomicU64,
    right_in_a_row: AtomicU64,
}

impl Seen {
    fn note(&self, is_right: bool) {
        if is_right {
            self.right_in_a_row.fetch_add(1, Ordering::AcqRel);
        } else {
            self.wrong.fetch_add(1, Ordering::AcqRel);
            self.right_in_a_row.store(0, Ordering::Release);
        }
    }
}

/// Makes calls for ever, one at a time.
fn keep_on<F>(callers: &mut JoinSet<()>, call: impl Fn() -> F + Send + 'static) -> Arc<Seen>
where
    F: Future<Output = bool> + Send + 'static,
{
    let seen = Arc::new(Seen::default());
    let notes = Arc::clone(&seen);
    callers.spawn(async move {
        loop {
            notes.note(call().await);
        }
    });
    seen
}

async fn after_a_slip(twice: bool) {
    let server = Server::builder().with_tcp().start().expect("a server");
    let mut direct = server.connect().expect("it runs");
    let peer = Peer::before(&server).await.expect("a peer");
    let backend = to(&peer).connect().await.expect("all is sound");
    let (looked_at, pushed_to) = (
        queue(&backend, "looked-at").await,
        queue(&backend, "pushed-to").await,
    );
    for body in 0..THERE {
        let pushed = looked_at.push_one(body.to_string()).await;
        let _ = pushed.expect("all is sound");
    }
    let mut callers = JoinSet::new();
    let depths = keep_on(&mut callers, {
        let queue = Arc::clone(&looked_at);
        move || {
            let queue = Arc::clone(&queue);
            async move { matches!(queue.depth().await, Ok(depth) if depth.ready == THERE) }
        }
    });
    let pushes = keep_on(&mut callers, move || {
        let queue = Arc::clone(&pushed_to);
        async move { queue.push_one("x").await.is_ok() }
    });
    let peeks = keep_on(&mut callers, move || {
        let queue = Arc::clone(&looked_at);
        async move {
            let page = queue.peek(Place::Ready, Page::first(10)).await;
            matches!(page, Ok(page) if page.entries.len() as u64 == THERE)
        }
    });
    let all = [&depths, &pushes, &peeks];
    let are_right = || {
        let right = |seen: &&Arc<Seen>| seen.right_in_a_row.load(Ordering::Acquire) >= RIGHT;
        all.iter().all(right)
    };
    let wrong = || all.map(|seen| seen.wrong.load(Ordering::Acquire));
    until("all is sound", are_right).await;
    assert_eq!(wrong(), [0; 3]);
    let connections = counted(&mut direct, "stats", "total_connections_received");
    peer.spoil(Spoil::Slip { twice });
    within("a reply slips, and all are right again", async {
        while wrong() == [0; 3] || !are_right() {
            assert!(wrong().iter().all(|wrong| *wrong <= WRONG), "{:?}", wrong());
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let opened = counted(&mut direct, "stats", "total_connections_received") - connections;
    // A doubled reply reaches no caller if no request is waiting for a reply.
    let expected = if twice { 0..=1 } else { 1..=1 };
    assert!(
        expected.contains(&opened),
        "{opened} in place of the one whose replies slipped"
    );
}

#[tokio::test]
async fn a_reply_that_is_dropped_costs_a_few_answers_and_the_connection() {
    after_a_slip(false).await;
}

#[tokio::test]
async fn a_reply_that_is_doubled_costs_a_few_answers_and_the_connection() {
    after_a_slip(true).await;
}

#[tokio::test]
async fn a_damaged_stored_value_costs_no_connection() {
    let server = Server::start().expect("a server");
    let mut direct = server.connect().expect("it runs");
    let backend = patient(&server.url()).connect().await;
    let backend = backend.expect("the server takes us");
    let name = QueueName::new("q").expect("a good name");
    let sound = queue(&backend, "q").await;
    redis::cmd("HSET")
        .arg("qk:{q}:meta")
        .arg("capacity")
        .arg("many")
        .exec(&mut direct)
        .expect("it obeys");
    let connections = counted(&mut direct, "stats", "total_connections_received");
    let tests = counted(&mut direct, "commandstats", "cmdstat_eval");
    for _ in 0..5 {
        let error = backend.open_stored(&name).await.expect_err("no number");
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        // The call waits for the end of a test of the connection.
        sound.depth().await.expect("that can be read");
    }
    let tested = counted(&mut direct, "commandstats", "cmdstat_eval") - tests;
    assert!((1..=5).contains(&tested), "tested {tested} times");
    let opened = counted(&mut direct, "stats", "total_connections_received") - connections;
    assert_eq!(opened, 0);
}

#[tokio::test]
async fn a_number_that_is_no_answer_to_a_wait_confirms_nothing() {
    let server = Server::builder().with_tcp().start().expect("a server");
    let peer = Peer::before(&server).await.expect("a peer");
    let backend = to(&peer).connect().await.expect("all is sound");
    let confirmed = backend.confirmed(Confirmation::replicas(1).within(Duration::from_millis(100)));
    let confirmed = confirmed.await.expect("the server can tell");
    let name = QueueName::new("q").expect("a good name");
    let config = ReliableConfig::default();
    let queue = confirmed.open_reliable(&name, &config);
    let queue = queue.await.expect("it opens");
    // These are the replies of two earlier requests, of which one may also be a wait for copies: the last
    // replies are the doubled ones of the first wait.
    for replies in [
        "$-1\r\n:1\r\n",
        "$12\r\ncopies of so\r\n:1\r\n",
        "$8\r\ncopies 0\r\n:1\r\n",
    ] {
        peer.spoil(Spoil::Answer("WAIT", replies.as_bytes().to_vec()));
        let pushed = queue.confirmed(|queue| queue.push_one("x")).await;
        let pushed = pushed.expect("it is pushed");
        assert!(!pushed.is_confirmed(), "{pushed:?}");
        peer.be_sound();
        within("the same backend works again", async {
            while queue.receive_one(LEASE, Duration::ZERO).await.is_err() {}
        })
        .await;
    }
}
