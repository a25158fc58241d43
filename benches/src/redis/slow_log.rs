//! How long one command keeps the server from all others, from `SLOWLOG`.
//!
//! The server itself takes the time of each command's execution, and Redis does nothing else meanwhile. A second client
//! that sends `PING` all the time would also see what the server reads and writes between commands. But its longest
//! round trip is an extreme value. Where client and server share a core, the scheduler causes that value, or the
//! measuring client. Large bodies are read and written in parts, with other clients served in between, so the log
//! misses little.

use std::time::Duration;

use redis::{Connection, ErrorKind, RedisResult, Value};

/// The most commands of one work, including the commands that scripts call, which newer servers log, too.
const MOST: usize = 65_536;
/// The server's own default, in microseconds.
const DEFAULT: i64 = 10_000;
/// The log counts whole microseconds; a shorter time counts as one.
const LEAST: Duration = Duration::from_micros(1);

/// The longest command while this work was done, of up to 65,536.
///
/// # Panics
///
/// If the server does not answer.
pub fn longest(server: &mut Connection, work: impl FnOnce()) -> Duration {
    set(server, "slowlog-max-len", MOST as i64);
    set(server, "slowlog-log-slower-than", 0);
    let reset = redis::cmd("SLOWLOG").arg("RESET").exec(server);
    reset.expect("the server forgets its log");
    work();
    let mut get = redis::cmd("SLOWLOG");
    let entries = get.arg("GET").arg(MOST).query::<Vec<Value>>(server);
    set(server, "slowlog-log-slower-than", DEFAULT);
    let entries = entries.expect("the server shows its log");
    assert!(entries.len() < MOST, "the log may have lost entries");
    let times = entries
        .into_iter()
        .map(|entry| read(entry).expect("an entry"));
    times.flatten().fold(LEAST, Duration::max)
}

fn set(server: &mut Connection, name: &str, value: i64) {
    let mut set = redis::cmd("CONFIG");
    let set = set.arg("SET").arg(name).arg(value).exec(server);
    set.expect("the server takes the setting");
}

/// The time of an entry; `None` for the commands that read the log.
fn read(entry: Value) -> RedisResult<Option<Duration>> {
    let (_, _, micros, command): (i64, i64, u64, Vec<Vec<u8>>) = first_four(entry)?;
    let is_ours = command.first().is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name == b"slowlog" || name == b"config"
    });
    Ok((!is_ours).then(|| Duration::from_micros(micros)))
}

/// Later versions of Redis may add fields to an entry.
fn first_four<T: redis::FromRedisValue>(entry: Value) -> RedisResult<T> {
    let Value::Array(mut fields) = entry else {
        return Err((ErrorKind::UnexpectedReturnType, "an entry that is no array").into());
    };
    fields.truncate(4);
    Ok(T::from_redis_value(Value::Array(fields))?)
}

#[cfg(test)]
mod tests {
    use real_redis::Server;

    use super::*;

    #[test]
    fn the_longest_command_is_found_among_short_ones() {
        let server = Server::start().unwrap();
        let mut admin = server.connect().unwrap();
        let mut client = server.connect().unwrap();
        let short = longest(&mut admin, || {
            redis::cmd("PING").arg(&[0xff]).exec(&mut client).unwrap();
        });
        let long = longest(&mut admin, || {
            redis::cmd("PING").exec(&mut client).unwrap();
            // No processor counts so far within a millisecond.
            let count = "for _ = 1, 10000000 do end";
            let counted = redis::cmd("EVAL").arg(count).arg(0).exec(&mut client);
            counted.unwrap();
            redis::cmd("PING").exec(&mut client).unwrap();
        });
        assert!(short >= LEAST);
        assert!(long >= Duration::from_millis(1), "{long:?}");
        // Earlier commands no longer count, and a work without commands has no longest command.
        assert_eq!(longest(&mut admin, || {}), LEAST);
    }
}
