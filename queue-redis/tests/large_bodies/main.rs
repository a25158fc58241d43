//! Large bodies: no script sees them, and nothing of them stays.

#![cfg(unix)]

#[path = "../support/connect.rs"]
mod connect;
mod items;
mod messages;

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{QueueKind, QueueName};
use queue_redis::LEFTOVERS;
use real_redis::Server;

const MIB: usize = 1024 * 1024;
/// What is smaller goes with its message.
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
    let mut connection = server.connect().expect("the server takes us");
    let mut asked = redis::cmd(command[0]);
    asked.arg(&command[1..]);
    asked.query(&mut connection).expect("the server answers")
}

fn leftovers(server: &Server) -> Vec<String> {
    ask(server, &["EVAL", LEFTOVERS, "0", "qk"])
}

/// The keys of large bodies that are there.
fn keys_of_bodies(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = ask(server, &["KEYS", "qk:*:bodies"]);
    keys.extend(ask::<Vec<String>>(server, &["KEYS", "qk:*:uploads"]));
    keys
}

/// The bytes of the longest argument that a script was called with, as the slow log tells, which cuts
/// arguments and says by how much.
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
