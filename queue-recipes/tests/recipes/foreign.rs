//! Another program: the published commands, sent unchanged. It shares no code with the recipes.

use real_redis::Server;
use redis::{Connection, FromRedisValue, RedisResult};

/// Puts a message into a topic. Keys: the registry, the sorted set; arguments: the sorted set's key,
/// the due time, the message.
pub(crate) const TOPIC_PUSH: &str = "redis.call('SADD', KEYS[1], ARGV[1]); \
     redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3]); return 1";

/// Moves a message of a topic that is due. Keys: the sorted set, the registry of lists, the list;
/// arguments: now, the list's key.
pub(crate) const TOPIC_MOVE: &str = "
local val = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, 1)
if(next(val) ~= nil) then
    redis.call('sadd', KEYS[2], ARGV[2])
    redis.call('zremrangebyrank', KEYS[1], 0, #val - 1)
    for i = 1, #val, 100 do
        redis.call('rpush', KEYS[3], unpack(val, i, math.min(i+99, #val)))
    end
    return 1
end
return 0";

/// Fixed length, the newest last. Key: the list; arguments: the length, the value.
pub(crate) const NEWEST_LAST: &str = "if redis.call('llen', KEYS[1]) >= tonumber(ARGV[1]) then \
     redis.call('lpop', KEYS[1]) end redis.call('rpush', KEYS[1], ARGV[2])";

/// Fixed length, the newest first.
pub(crate) const NEWEST_FIRST: &str = "if redis.call('llen', KEYS[1]) >= tonumber(ARGV[1]) then \
     redis.call('rpop', KEYS[1]) end redis.call('lpush', KEYS[1], ARGV[2])";

/// Fixed length: push, then trim.
pub(crate) const TRIM: &str = "if redis.call('rpush', KEYS[1], ARGV[2]) > tonumber(ARGV[1]) then \
     redis.call('lpop', KEYS[1]) end";

/// The newest different bodies. Arguments: the length, the time, the body.
pub(crate) const DISTINCT: &str = "if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[1]) then \
     redis.call('zpopmin', KEYS[1]) end redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])";

/// The same, adding first.
pub(crate) const ADD_FIRST: &str = "redis.call('zadd', KEYS[1], ARGV[2], ARGV[3]) \
     if redis.call('zcard', KEYS[1]) > tonumber(ARGV[1]) then redis.call('zpopmin', KEYS[1]) end";

/// A connection of its own.
pub(crate) struct Foreign(Connection);

impl Foreign {
    pub(crate) fn of(server: &Server) -> Self {
        Self(server.connect().expect("the server runs"))
    }

    pub(crate) fn run<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        self.try_run(words).expect("the server obeys")
    }

    pub(crate) fn try_run<T: FromRedisValue>(&mut self, words: &[&str]) -> RedisResult<T> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut self.0)
    }

    pub(crate) fn eval<T: FromRedisValue>(
        &mut self,
        script: &str,
        keys: &[&str],
        arguments: &[&str],
    ) -> T {
        let count = keys.len().to_string();
        let words = [&["EVAL", script, &count], keys, arguments].concat();
        self.run(&words)
    }

    /// Each key, its type and what it holds, by name.
    pub(crate) fn dump(&mut self) -> Vec<String> {
        let mut keys: Vec<String> = self.run(&["KEYS", "*"]);
        keys.sort();
        keys.iter().map(|key| self.dump_of(key)).collect()
    }

    fn dump_of(&mut self, key: &str) -> String {
        let holds: String = self.run(&["TYPE", key]);
        let entries = match &*holds {
            "string" => vec![self.run(&["GET", key])],
            "list" => self.run(&["LRANGE", key, "0", "-1"]),
            "set" => {
                let mut members: Vec<String> = self.run(&["SMEMBERS", key]);
                members.sort();
                members
            }
            "zset" => {
                let words = ["ZRANGE", key, "0", "-1", "WITHSCORES"];
                pairs(&self.run::<Vec<String>>(&words), |member, score| {
                    format!("{score} {member}")
                })
            }
            "hash" => {
                let mut fields = pairs(
                    &self.run::<Vec<String>>(&["HGETALL", key]),
                    |field, value| format!("{field}={value}"),
                );
                fields.sort();
                fields
            }
            _ => {
                let entries: Vec<(String, Vec<String>)> = self.run(&["XRANGE", key, "-", "+"]);
                let entries = entries.into_iter().map(|(_, fields)| fields.join("="));
                entries.collect()
            }
        };
        format!("{holds} {key}: {}", entries.join(" | "))
    }
}

fn pairs(flat: &[String], show: impl Fn(&str, &str) -> String) -> Vec<String> {
    flat.chunks(2)
        .map(|pair| show(&pair[0], &pair[1]))
        .collect()
}
