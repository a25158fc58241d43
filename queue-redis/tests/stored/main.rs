//! Data that earlier versions stored. `layout_N.txt` has the queues of `shop.rs` in layout N, and `layout_N.shown.txt` the
//! results of all calls on them. This version has to return the same.
//!
//! `EXPECTED=write cargo test -p queue-redis --test stored` writes the files of this version's layout again. Do so
//! only while the layout is not released.

#![cfg(unix)]

mod dump;
#[path = "../support/patient.rs"]
mod patient;
mod shop;
mod shown;

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Backend, LAYOUT_VERSION, Timestamp};
use real_redis::Server;

use self::patient::patient;

/// A clock that a test moves, so that what is stored does not depend on when it is stored.
#[derive(Clone)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    /// 2026-09-13, before the first release.
    fn at_the_beginning() -> Self {
        Self(Arc::new(AtomicU64::new(1_789_300_000_000)))
    }

    fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

async fn connect(server: &Server, clock: &Clock) -> Arc<dyn Backend> {
    let clock = clock.clone();
    let builder = patient(&server.url())
        .packs_from(4)
        .large_bodies_from(shop::LARGE);
    let backend = builder.clock(move || clock.now()).connect().await;
    Arc::new(backend.expect("the server takes us"))
}

fn file(layout: u32, ending: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stored/layout_{layout}{ending}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The results of all calls that read, ten seconds after the data was stored.
async fn shown(server: &Server, clock: &Clock) -> String {
    clock.advance(Duration::from_secs(10));
    shown::shown(&connect(server, clock).await, clock).await
}

/// Two texts of many lines: the first line that differs.
fn assert_same(name: &str, now: &str, before: &str) {
    for (number, (now, before)) in now.lines().zip(before.lines()).enumerate() {
        assert_eq!(now, before, "{name}, line {}", number + 1);
    }
    assert_eq!(now.lines().count(), before.lines().count(), "{name}");
}

#[tokio::test]
async fn data_of_each_released_layout_is_read_as_it_was_stored() {
    for layout in 1..=LAYOUT_VERSION {
        let server = Server::start().expect("a server");
        dump::load(&server, &read(&file(layout, ".txt")));
        let clock = Clock::at_the_beginning();
        clock.advance(shop::TIME);
        let now = shown(&server, &clock).await;
        let before = read(&file(layout, ".shown.txt"));
        assert_same(&format!("layout {layout}"), &now, &before);
    }
}

/// The files are of the code as it is: nobody has to guess what they hold.
#[tokio::test]
async fn this_version_stores_what_the_newest_file_shows() {
    let server = Server::start().expect("a server");
    let clock = Clock::at_the_beginning();
    shop::store(&connect(&server, &clock).await, &clock).await;
    let stored = dump::dump(&server);
    if env::var("EXPECTED").is_ok_and(|value| value == "write") {
        fs::write(file(LAYOUT_VERSION, ".txt"), &stored).expect("writes");
        let shown = shown(&server, &clock).await;
        return fs::write(file(LAYOUT_VERSION, ".shown.txt"), shown).expect("writes");
    }
    let file_of_now = read(&file(LAYOUT_VERSION, ".txt"));
    let keys = |text: &str| -> Vec<String> {
        let keys = text.lines().filter_map(|line| line.split(' ').nth(1));
        keys.map(str::to_owned).collect()
    };
    assert_eq!(
        keys(&stored),
        keys(&file_of_now),
        "the keys and their sizes"
    );
    let now = shown(&server, &clock).await;
    assert_same(
        "this version",
        &now,
        &read(&file(LAYOUT_VERSION, ".shown.txt")),
    );
}
