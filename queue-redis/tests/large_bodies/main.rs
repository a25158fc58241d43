//! Large bodies: no script reads them, and they leave nothing behind.

#![cfg(unix)]

mod items;
mod messages;
#[path = "../support/patient.rs"]
mod patient;

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{MessageId, QueueKind, QueueName, Timestamp};
use queue_redis::{RedisBackend, leak_finder};
use real_redis::Server;

use self::patient::patient;

const MIB: usize = 1024 * 1024;
/// A smaller body is stored with its message.
const LARGE: usize = 16 * 1024;
const LEASE: Duration = Duration::from_secs(600);

fn two() -> NonZeroUsize {
    NonZeroUsize::new(2).expect("not zero")
}

fn name(kind: QueueKind) -> QueueName {
    QueueName::new(kind.as_str()).expect("a name")
}

/// The server's answer to this, a raw command.
fn ask<T: redis::FromRedisValue>(server: &Server, command: &[&str]) -> T {
    server.ask(command).expect("the server answers")
}

/// A backend, and the time that it uses in place of the server's, in ms.
async fn connect_with_clock(server: &Server) -> (RedisBackend, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let clock = Arc::clone(&now);
    let url = server.url();
    let builder = patient(&url);
    let backend = builder.clock(move || Timestamp::from_millis(clock.load(Ordering::Relaxed)));
    (backend.connect().await.expect("connects"), now)
}

/// How many bytes a hash holds under this id.
fn length_under(server: &Server, hash: &str, id: MessageId) -> usize {
    let mut length = redis::cmd("HSTRLEN");
    length.arg(hash).arg(&id.get().to_be_bytes()[1..]);
    let mut connection = server.connect().expect("the server takes us");
    length.query(&mut connection).expect("the server answers")
}

fn leaks(server: &Server) -> Vec<String> {
    ask(server, &["EVAL", leak_finder(), "0", "qk"])
}

/// The keys of large bodies that are there.
fn keys_of_bodies(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = ask(server, &["KEYS", "qk:*:bodies"]);
    keys.extend(ask::<Vec<String>>(server, &["KEYS", "qk:*:uploads"]));
    keys
}

/// Makes the slow log record every command.
fn log_commands(server: &Server) {
    for (setting, value) in [("log-slower-than", "0"), ("max-len", "1000")] {
        let setting = format!("slowlog-{setting}");
        let _: () = ask(server, &["CONFIG", "SET", &setting, value]);
    }
}

/// The length in bytes of the longest argument of a script. The slow log cuts arguments, and says how many
/// bytes it left out.
fn longest_argument(server: &Server) -> usize {
    let log: Vec<Vec<redis::Value>> = ask(server, &["SLOWLOG", "GET", "-1"]);
    let arguments = log.into_iter().map(|mut entry| {
        let arguments: Vec<Vec<u8>> =
            redis::from_redis_value(entry.swap_remove(3)).expect("arguments");
        arguments
    });
    let scripts = arguments.filter(|arguments| arguments[0] == b"EVALSHA");
    let cut = |argument: Vec<u8>| {
        let argument = String::from_utf8_lossy(&argument);
        let (_, more) = argument.rsplit_once("... (")?;
        more.strip_suffix(" more bytes)")?.parse::<usize>().ok()
    };
    let cuts = scripts.flatten().filter_map(cut);
    cuts.max().map_or(128, |cut| cut + 128)
}
