//! Nonsense in answer to calls, to waits, and to a connect.

use std::{collections::BTreeSet, time::Duration};

use proptest::{collection::vec, prelude::*};
use queue_core::*;
use queue_redis::{Builder, RedisBackend};
use queue_testing::property::check_property;
use real_redis::Server;
use tokio::time::timeout;

use super::{
    peer::{Peer, Spoil},
    run,
};
use crate::{
    ground::{at_last, within},
    patient::patient,
};

const CASES: u32 = 8;
/// A connection that stays silent is given up after this time.
const SILENCE: Duration = Duration::from_millis(100);
/// No call takes longer, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(600);

/// Replies that no server sends. None is an error reply, which would be a valid answer.
fn made_up() -> impl Strategy<Value = Vec<u8>> {
    let good = prop::sample::select(vec![
        "$-1\r\n",
        "*-1\r\n",
        "_\r\n",
        ":-9223372036854775808\r\n",
        "*3\r\n:1\r\n",
        "*2000000000\r\n",
        "$99999999999\r\n",
        "%1\r\n",
        "(3492890328409238509324850943850943825024385\r\n",
        ",inf\r\n",
        "#t\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n",
        ">1\r\n:1\r\n",
        "|1\r\n+a\r\n+b\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "+QUEUED\r\n",
    ]);
    prop_oneof![
        3 => good.prop_map(|text| text.as_bytes().to_vec()),
        1 => Just("*1\r\n".repeat(5_000).into_bytes()),
        1 => vec(any::<u8>(), 1..60).prop_filter("no error", |bytes| !bytes.contains(&b'-')),
    ]
}

fn spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        3 => (1..40_usize, 1..=255_u8).prop_map(|(each, by)| Spoil::Change { each, by }),
        2 => (0..60_usize, any::<bool>()).prop_map(|(after, ends)| Spoil::Cut { after, ends }),
        3 => made_up().prop_map(Spoil::Instead),
    ]
}

fn to(peer: &Peer) -> Builder {
    let url = format!("redis://127.0.0.1:{}", peer.port());
    let builder = RedisBackend::builder(&url).expect("a good URL");
    builder.response_timeout(SILENCE).fall_back(SILENCE)
}

/// Checks that a person can read the error, and a program can act upon it.
#[track_caller]
fn assert_clear(error: &Error) {
    let text = queue_testing::chain::texts(error).join(": ");
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() < 2_000, "{text:?}");
}

async fn in_time<T>(what: &str, call: impl Future<Output = T>) -> T {
    let ended = timeout(PATIENCE, call).await;
    ended.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

/// The numbers of the messages in a queue, read over an unspoiled connection.
async fn there(queue: &dyn ReliableQueue) -> BTreeSet<u32> {
    let mut there = BTreeSet::new();
    for place in [Place::Ready, Place::Leased] {
        let page = queue.peek(place, Page::first(1_000)).await;
        let page = page.expect("nothing is between");
        assert_eq!(page.next, None, "one page has all");
        there.extend(page.entries.iter().map(|shown| {
            let body = std::str::from_utf8(&shown.message.body);
            body.expect("text").parse::<u32>().expect("a number")
        }));
    }
    there
}

#[test]
fn calls_end_with_an_error_of_the_right_outcome_and_are_answered_again() {
    let server = Server::builder().with_tcp().start().expect("a server");
    check_property(CASES, vec(spoil(), 1..4), |spoils| {
        run(calls(&server, spoils));
    });
}

async fn calls(server: &Server, spoils: Vec<Spoil>) {
    server.ask::<()>(&["FLUSHALL"]).expect("it obeys");
    let peer = Peer::before(server).await.expect("a peer");
    let config = ReliableConfig::default();
    let name = QueueName::new("q").expect("a good name");
    let backend = at_last(|| to(&peer).connect()).await;
    let queue = at_last(|| backend.open_reliable(&name, &config)).await;
    let sound = patient(&server.url()).connect().await;
    let sound = sound.expect("the server takes us");
    let sound = sound.open_reliable(&name, &config).await.expect("opens");
    let (mut must, mut must_not) = (BTreeSet::new(), BTreeSet::new());
    let mut number = 0;
    for spoil in spoils {
        // Meanwhile another caller waits on the connection for wake-ups.
        let idle = QueueName::new("idle").expect("a good name");
        let idle = at_last(|| backend.open_reliable(&idle, &config)).await;
        let waiter = tokio::spawn(async move { idle.receive_one(LEASE, 3 * SILENCE).await });
        peer.spoil(spoil);
        for _ in 0..4 {
            number += 1;
            match in_time("a push", queue.push_one(number.to_string())).await {
                Ok(_) => drop(must.insert(number)),
                Err(error) => {
                    assert_clear(&error);
                    if error.outcome() == Outcome::NotApplied {
                        must_not.insert(number);
                    }
                }
            }
            if let Err(error) = in_time("a depth", queue.depth()).await {
                assert_clear(&error);
            }
            if let Err(error) = in_time("a ping", backend.ping()).await {
                assert_clear(&error);
            }
        }
        let waited = in_time("a wait", waiter).await.expect("no panic");
        if let Err(error) = waited {
            assert_clear(&error);
        }
        peer.be_sound();
        within("the same backend works again", async {
            // A single answer may belong to the call before it.
            let mut good = 0;
            while good < 3 {
                number += 1;
                let depth = match queue.push_one(number.to_string()).await {
                    Ok(_) => {
                        must.insert(number);
                        queue.depth().await
                    }
                    Err(error) => Err(error),
                };
                let truth = there(&*sound).await.len() as u64;
                match depth {
                    Ok(depth) if depth.ready == truth => good += 1,
                    _ => good = 0,
                }
            }
        })
        .await;
        let there = there(&*sound).await;
        let lost: Vec<_> = must.difference(&there).collect();
        assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
        let applied: Vec<_> = must_not.intersection(&there).collect();
        assert!(applied.is_empty(), "not applied, and there: {applied:?}");
    }
    // Every message of the queue comes once.
    let all = there(&*sound).await;
    let mut came = BTreeSet::new();
    while let Some(delivery) = sound
        .receive_one(LEASE, Duration::ZERO)
        .await
        .expect("nothing is between")
    {
        let body = std::str::from_utf8(&delivery.body).expect("text");
        assert!(came.insert(body.parse().expect("a number")), "{body} again");
        sound.ack(delivery.receipt).await.expect("it is ours");
    }
    assert_eq!(came, all);
}

#[test]
fn a_connect_ends_with_a_clear_error_and_succeeds_once_the_peer_is_sound() {
    let server = Server::builder().with_tcp().start().expect("a server");
    check_property(CASES, spoil(), |spoil| {
        run(async {
            let peer = Peer::before(&server).await.expect("a peer");
            peer.spoil(spoil.clone());
            let connect = to(&peer).connect_timeout(3 * SILENCE).connect();
            if let Err(error) = in_time("a connect", connect).await {
                assert_clear(&error);
                let place = format!("127.0.0.1:{}", peer.port());
                assert!(error.to_string().contains(&place), "{error}");
                assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
            }
            peer.be_sound();
            let patient = to(&peer)
                .connect_timeout(PATIENCE)
                .response_timeout(PATIENCE);
            let connect = patient.connect();
            connect
                .await
                .expect("all is sound")
                .ping()
                .await
                .expect("it answers");
        });
    });
}
