//! Whether a server keeps more than its queues' messages explain.

use redis::{Connection, RedisResult};

/// The look at all keys, as a script: nothing happens meanwhile.
const LOOK: &str = include_str!("leftovers.lua");

/// The words of the command that looks at the keys with this prefix; it is answered by a line for
/// each thing that is there for nothing.
pub(super) fn command(prefix: &str) -> [&str; 4] {
    ["EVAL", LOOK, "0", prefix]
}

/// What the keys with this prefix hold that no message, letter, item or once key explains, such as the
/// body of a message that is gone: a line for each.
///
/// # Errors
///
/// What the server or the connection answers.
pub fn leftovers(connection: &mut Connection, prefix: &str) -> RedisResult<Vec<String>> {
    let [name, rest @ ..] = command(prefix);
    redis::cmd(name).arg(&rest).query(connection)
}
