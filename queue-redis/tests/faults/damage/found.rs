//! Harm that once broke a queue, each in a test of its own.

use std::{iter, num::NonZeroUsize};

use queue_core::*;
use redis::{Connection, FromRedisValue};

use super::{
    Ground, HOUR, START,
    filled::{Filled, LEASE},
    harm::ask,
};

const TEN: NonZeroUsize = NonZeroUsize::new(10).unwrap();
/// The id of the second message, as keys hold it.
const SECOND: &[u8] = &[0, 0, 0, 0, 0, 0, 2];

/// A queue of three plain messages.
struct Three {
    ground: Ground,
    connection: Connection,
    name: QueueName,
    queue: AnyQueue,
}

impl Three {
    fn of(kind: QueueKind) -> Self {
        let ground = Ground::new();
        let name = ground.next_name(kind.as_str());
        let queue = ground.runtime.block_on(async {
            let config = QueueConfig::of(kind, 100);
            let queue = ground.backend.open(&name, &config).await.expect("opens");
            let put = queue.put(&["a", "b", "c"].map(Push::new)).await;
            put.expect("there is room");
            queue
        });
        Self {
            connection: ground.connection(),
            ground,
            name,
            queue,
        }
    }

    fn key(&self, suffix: &str) -> String {
        format!("qk:{{{}}}:{suffix}", self.name)
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.ground.runtime.block_on(future)
    }

    /// Has the server run a command on one of the keys.
    fn ask<T: FromRedisValue>(&mut self, command: &str, suffix: &str, rest: &[&[u8]]) -> T {
        let key = self.key(suffix);
        let words: Vec<&[u8]> = iter::once(key.as_bytes())
            .chain(rest.iter().copied())
            .collect();
        ask(&mut self.connection, command, &words)
    }

    fn set(&mut self, suffix: &str, field: &[u8], value: &[u8]) {
        self.ask::<()>("HSET", suffix, &[field, value]);
    }

    fn put(&self) -> Result<Vec<Pushed>> {
        self.run(self.queue.put(&[Push::new("d")]))
    }

    fn leasing(&self) -> std::sync::Arc<dyn Leasing> {
        self.queue.leasing().expect("it leases")
    }

    fn lease(&self) -> Result<Vec<Bytes>> {
        let leased = self.run(self.leasing().lease(TEN, LEASE))?;
        Ok(leased
            .deliveries
            .into_iter()
            .map(|each| each.body)
            .collect())
    }

    fn letters(&self) -> Vec<DeadLetter> {
        let leasing = self.leasing();
        let page = self.run(leasing.dead_letters(Page::first(10)));
        page.expect("a page").entries
    }

    #[track_caller]
    fn assert_one_set_aside(&self, body: &[u8]) {
        let letters = self.letters();
        assert_eq!(letters.len(), 1, "{letters:?}");
        assert_eq!(letters[0].body, body);
        let why = letters[0].why();
        assert!(why.contains("damaged"), "{why}");
        let leasing = self.leasing();
        let revived = self.run(leasing.revive(&[letters[0].id], Revival::WithState));
        assert_eq!(revived.expect("answers"), [Revived::NotFound]);
        let counters = self.run(leasing.counters());
        assert!(counters.expect("counters").balance());
    }
}

#[test]
fn a_frame_that_is_cut_off_does_not_block_the_head() {
    for kind in [QueueKind::Reliable, QueueKind::Bounded] {
        for cut in [
            &b""[..],
            b"\0",
            b"\0\0\0\0\0\0\0\x01\0\0",
            &[0; 15],
            &[255; 16],
        ] {
            let mut three = Three::of(kind);
            three.ask::<()>("LSET", "ready", &[b"0", cut]);
            assert_eq!(three.lease().expect("leases"), ["b", "c"], "{kind} {cut:?}");
            three.assert_one_set_aside(cut);
        }
    }
}

/// The messages read from a damaged pack may not be the pushed ones, so none of them is delivered.
#[test]
fn a_damaged_pack_is_set_aside_and_blocks_nothing() {
    let batch = ["d", "e", "f", "g"].map(Push::new);
    for asked in [1, 3, 10] {
        let of_head = [("3", 15, 3), ("3", 15, 5)];
        let of_messages = [("4", 0, 7), ("4", 3, 1), ("4", 3, 9), ("4", 15, 200)];
        let damages = of_head
            .into_iter()
            .chain(of_messages)
            .map(|damage| (damage, 3..=5));
        // A damaged head becomes one dead letter, and the messages behind it another.
        for ((element, at, byte), letters) in damages.chain([(("3", 0, 7), 2..=2)]) {
            let mut three = Three::of(QueueKind::Reliable);
            three.run(three.queue.put(&batch)).expect("there is room");
            three.put().expect("there is room");
            let pack: Vec<Vec<u8>> = three.ask("LRANGE", "ready", &[b"3", b"4"]);
            assert_eq!((pack[0][0], pack[0][15], pack[0].len()), (254, 4, 16));
            assert_eq!((pack[1][0], pack[1][1], pack[1].len()), (253, 4, 18));
            let element = element.as_bytes();
            let mut damaged: Vec<u8> = three.ask("LINDEX", "ready", &[element]);
            damaged[at] = byte;
            three.ask::<()>("LSET", "ready", &[element, &damaged]);
            let asked = NonZeroUsize::new(asked).expect("not zero");
            let mut bodies = Vec::new();
            for _ in 0..20 {
                let leased = three
                    .run(three.leasing().lease(asked, LEASE))
                    .expect("leases");
                bodies.extend(leased.deliveries.into_iter().map(|each| each.body));
            }
            assert_eq!(bodies, ["a", "b", "c", "d"], "{asked}, {at}, {byte}");
            let found = three.letters();
            assert!(letters.contains(&found.len()), "{found:?}");
            assert!(found.iter().all(|letter| letter.why().contains("damaged")));
        }
    }
}

/// The damaged pack counts as one element, so the messages behind it are neither lost nor delivered twice.
#[test]
fn a_pack_that_says_it_is_empty_is_set_aside() {
    let batch = ["a", "b", "c", "d"].map(Push::new);
    for asked in [1, 3, 10] {
        let mut three = Three::of(QueueKind::Reliable);
        three.run(three.queue.put(&batch)).expect("there is room");
        let pack: Vec<Vec<u8>> = three.ask("RPOP", "ready", &[b"2"]);
        let mut empty = [&pack[1][..], &pack[0][2..]].concat();
        empty[15] = 0;
        three.ask::<()>("LPUSH", "ready", &[&empty]);
        let asked = NonZeroUsize::new(asked).expect("not zero");
        let mut bodies = Vec::new();
        for _ in 0..10 {
            let leased = three
                .run(three.leasing().lease(asked, LEASE))
                .expect("leases");
            bodies.extend(leased.deliveries.into_iter().map(|each| each.body));
        }
        assert_eq!(bodies, ["a", "b", "c"], "{asked}");
        assert_eq!(three.letters().len(), 1);
    }
}

#[test]
fn a_frame_that_is_missing_or_another_messages_does_not_block_the_head() {
    for kind in [QueueKind::Delay, QueueKind::Priority] {
        let mut three = Three::of(kind);
        three.ask::<()>("HDEL", "frames", &[SECOND]);
        assert_eq!(three.lease().expect("leases"), ["a", "c"], "{kind}");
        three.assert_one_set_aside(b"");

        let mut three = Three::of(kind);
        let other: Vec<u8> = three.ask("HGET", "frames", &[&[0, 0, 0, 0, 0, 0, 3]]);
        three.set("frames", SECOND, &other);
        assert_eq!(three.lease().expect("leases"), ["a", "c"], "{kind}");
        three.assert_one_set_aside(&other);
    }
}

/// Holds for messages with a lease each, and for several messages stored as one batch lease.
#[test]
fn a_message_damaged_while_leased_dies_when_its_lease_ends() {
    for (kind, more) in QueueKind::LEASING
        .map(|kind| [(kind, 0), (kind, 3)])
        .concat()
    {
        let mut three = Three::of(kind);
        for _ in 0..more {
            three.put().expect("there is room");
        }
        assert_eq!(three.lease().expect("leases").len(), 3 + more, "{kind}");
        // The second message's frame, wherever it is stored.
        let begins = [b"\0", SECOND].concat();
        let damaged = [b"\xfd", SECOND].concat();
        let kept: Vec<(Vec<u8>, Vec<u8>)> = three.ask("HGETALL", "frames", &[]);
        let length = match kind {
            QueueKind::Priority => 26,
            QueueKind::Grouped => 19,
            _ => 17,
        };
        let mut found = Bytes::new();
        for (field, mut value) in kept {
            let at = value.windows(8).position(|part| part == begins);
            if let Some(at) = at {
                value[at..at + 8].copy_from_slice(&damaged);
                three.set("frames", &field, &value);
                found = Bytes::copy_from_slice(&value[at..at + length]);
            }
        }
        assert_ne!(found, "", "{kind}, {more} more");
        three.ground.clock.set(START + HOUR);
        let back = three.lease().expect("leases");
        let expected = ["a", "c", "d", "d", "d"];
        assert_eq!(back, expected[..2 + more], "{kind}");
        three.assert_one_set_aside(&found);
    }
}

/// The scripts read no headers, so only the client finds out.
#[test]
fn headers_that_are_none_keep_no_others_of_the_batch_back() {
    let mut three = Three::of(QueueKind::Delay);
    let mut frame: Vec<u8> = three.ask("HGET", "frames", &[SECOND]);
    let content = b"\x01\xff\xff\xff\xffno headers";
    frame.splice(15.., content.iter().copied());
    three.set("frames", SECOND, &frame);
    assert_eq!(three.lease().expect("leases"), ["a", "c"]);
    let letters = three.letters();
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(
        (letters[0].id.get(), &letters[0].body[..]),
        (2, &content[..])
    );
    assert!(letters[0].why().contains("damaged"), "{letters:?}");
}

#[test]
fn a_counter_that_is_no_number_restarts() {
    for field in [
        "expired", "died", "joins", "released", "acked", "token", "next_due",
    ] {
        for value in ["abc", "9223372036854775807", "inf", "1e300", ""] {
            let mut three = Three::of(QueueKind::Reliable);
            three.ground.clock.set(START);
            assert_eq!(three.lease().expect("leases").len(), 3);
            three.set("meta", field.as_bytes(), value.as_bytes());
            three.ground.clock.set(START + HOUR);
            // If `next_due` is too late, the first poll only corrects it.
            let found = three.lease().expect("leases").len() + three.lease().expect("leases").len();
            assert_eq!(found, 3, "{field}={value}");
            let leasing = three.leasing();
            let counted = three.run(leasing.counters());
            counted.unwrap_or_else(|error| panic!("{field}={value}: {error}"));
        }
    }
}

#[test]
fn damage_that_only_a_person_can_repair_is_named() {
    for (field, value) in [
        ("accepted", "abc"),
        ("accepted", "1e300"),
        ("config", "\u{1}\n\u{fe}"),
        (
            "config",
            "kind=priority layout=1 max_attempts=5 ageing=none",
        ),
        (
            "config",
            "kind=priority layout=1 max_attempts=5x dead_letter_cap=9 ageing=none",
        ),
        (
            "config",
            "kind=priority layout=1 max_attempts=5 dead_letter_cap=9 ageing=none at_once=x",
        ),
        (
            "config",
            "kind=priority layout=1 max_attempts=5 dead_letter_cap=9 rate=5 ageing=none",
        ),
        (
            "config",
            "kind=priority layout=1 max_attempts=5 max_attempts=6 dead_letter_cap=9 ageing=none",
        ),
        (
            "config",
            "kind=priority layout=1 max_attempts=5 dead_letter_cap=9 ageing=none and more",
        ),
    ] {
        let mut three = Three::of(QueueKind::Priority);
        three.set("meta", field.as_bytes(), value.as_bytes());
        let put = three.put();
        let error = put.expect_err("ids could be given twice");
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
        let text = error.to_string();
        for part in [
            three.name.as_str(),
            field,
            "set it right",
            &*three.key("meta"),
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}

#[test]
fn a_capacity_that_is_no_number_stops_offers_alone() {
    let mut three = Three::of(QueueKind::Bounded);
    three.set("meta", b"capacity", b"many");
    let put = three.put();
    let text = put.expect_err("how many fit?").to_string();
    assert!(text.contains("capacity") && text.contains("many"), "{text}");
    assert_eq!(three.lease().expect("leases").len(), 3);
    let AnyQueue::Bounded(bounded) = &three.queue else {
        panic!("it was opened as one");
    };
    three.run(bounded.resize(TEN)).expect("sets it right");
    let put = three.put();
    put.expect("there is room");
}

#[test]
fn a_large_body_that_is_missing_or_none_keeps_no_others_back() {
    let ground = Ground::new();
    let mut connection = ground.connection();
    for body in [None, Some(b"\x07what".to_vec())] {
        let filled: Filled = ground.runtime.block_on(ground.filled(QueueKind::Reliable));
        let bodies = format!("qk:{{{}}}:bodies", filled.name);
        let references: Vec<Vec<u8>> = ask(&mut connection, "HKEYS", &[bodies.as_bytes()]);
        let mut words = vec![bodies.as_bytes(), &references[0]];
        words.extend(body.as_deref());
        let command = if body.is_none() { "HDEL" } else { "HSET" };
        ask::<()>(&mut connection, command, &words);
        let leasing = filled.leasing();
        let hundred = NonZeroUsize::new(100).expect("not zero");
        let leased = ground
            .runtime
            .block_on(leasing.lease(hundred, LEASE))
            .expect("leases");
        let large = leased
            .deliveries
            .iter()
            .filter(|each| each.body.len() == 20_000);
        assert_eq!(large.count(), 1, "the other one comes");
        assert!(leased.deliveries.len() > 5, "and all others");
        let page = ground
            .runtime
            .block_on(leasing.dead_letters(Page::first(10)));
        let letters = page.expect("a page").entries;
        let last = letters.last().expect("it is set aside");
        assert_eq!(last.body, body.unwrap_or_default(), "{last:?}");
        assert!(last.why().contains("damaged"), "{last:?}");
    }
}

#[test]
fn a_letter_whose_id_is_none_takes_nobodys() {
    let mut three = Three::of(QueueKind::Reliable);
    three.ask::<()>("ZADD", "dead", &[b"1", b"\x02"]);
    let letters = three.letters();
    assert_eq!((letters.len(), letters[0].id.get()), (1, 0), "{letters:?}");
}

#[test]
fn a_ring_whose_count_of_places_is_no_number_takes_items() {
    for value in ["nan", "inf", "abc", "-1"] {
        let mut three = Three::of(QueueKind::Rotating);
        three.set("meta", b"joins", value.as_bytes());
        let put = three.put();
        put.unwrap_or_else(|error| panic!("{value}: {error}"));
    }
}

/// Behind the number of a place it would have looked like another message's id.
#[test]
fn a_delayed_place_that_is_no_id_is_nobodys() {
    let mut three = Three::of(QueueKind::Reliable);
    three.set("meta", b"joins", b"1");
    let due = START.to_string();
    three.ask::<()>("ZADD", "delayed", &[due.as_bytes(), b""]);
    three.set("meta", b"next_due", b"0");
    assert_eq!(three.lease().expect("leases"), ["a", "b", "c"]);
    assert!(three.lease().expect("leases").is_empty());
}

#[test]
fn a_foreign_entry_in_the_list_of_queues_hides_none() {
    let mut three = Three::of(QueueKind::Reliable);
    for entry in [
        &b""[..],
        b"!",
        b"a",
        b"a nothing",
        b"\xff\xfe",
        b"aa",
        // There are no such queues.
        b"b reliable",
        b"c reliable",
        b"reliable-0 \xff",
        b"zz top of all",
    ] {
        ask::<()>(&mut three.connection, "ZADD", &[b"qk:queues", b"0", entry]);
    }
    for limit in [1, 2, 10] {
        let most = NonZeroUsize::new(limit).expect("not zero");
        let listed = three.run(three.ground.backend.queues(None, most));
        let listed = listed.expect("a list").into_iter();
        let names: Vec<_> = listed.map(|queue| queue.name.to_string()).collect();
        let own = three.name.to_string();
        assert_eq!(names, [own]);
    }
}

#[test]
fn an_item_without_a_body_does_not_block_a_ring() {
    let mut three = Three::of(QueueKind::Rotating);
    three.ask::<()>("HDEL", "bodies", &[&[0, 0, 0, 0, 0, 0, 1]]);
    three.set("bodies", SECOND, b"\x01no item");
    let AnyQueue::Rotating(ring) = &three.queue else {
        panic!("it was opened as one");
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let visit = three
            .run(ring.rotate(NonZeroUsize::MIN))
            .expect("settled and leased");
        let goes_on = visit.next.is_some_and(|next| next.is_zero());
        assert!(!visit.items.is_empty() || goes_on, "{visit:?}");
        seen.extend(visit.items.into_iter().map(|item| item.body));
    }
    assert_eq!(seen, ["c"]);
    let listed = three.run(ring.list(Page::first(10))).expect("a list");
    assert_eq!(listed.entries.len(), 1);
}
