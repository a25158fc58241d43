//! The calls of each command on a server.

use std::collections::BTreeMap;

use redis::{Connection, RedisResult};

/// Calls of each command, by its lower-case name (`evalsha`, `script|load`).
///
/// Commands that a script runs count too, under their own names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandCounts(BTreeMap<String, u64>);

impl CommandCounts {
    /// Reads the text of `INFO commandstats`.
    pub fn parse(info: &str) -> Self {
        let counts = info.lines().filter_map(|line| {
            let (name, values) = line.strip_prefix("cmdstat_")?.split_once(':')?;
            let calls = values.split(',').find_map(|v| v.strip_prefix("calls="))?;
            Some((name.to_owned(), calls.parse().ok()?))
        });
        Self(counts.collect())
    }

    /// The calls of this command.
    pub fn of(&self, command: &str) -> u64 {
        self.0.get(command).copied().unwrap_or(0)
    }

    /// The calls of all these commands together.
    pub fn sum<'a>(&self, commands: impl IntoIterator<Item = &'a str>) -> u64 {
        commands.into_iter().map(|command| self.of(command)).sum()
    }

    /// The calls since `earlier`, without commands that had none.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let more = self.0.iter().filter_map(|(name, calls)| {
            let more = calls.saturating_sub(earlier.of(name));
            (more > 0).then(|| (name.clone(), more))
        });
        Self(more.collect())
    }

    /// Every command and its calls, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, calls)| (name.as_str(), *calls))
    }
}

/// Asks a server for its `INFO commandstats`.
///
/// # Errors
///
/// Those of the server or the connection.
pub fn command_counts(connection: &mut Connection) -> RedisResult<CommandCounts> {
    let info: String = redis::cmd("INFO").arg("commandstats").query(connection)?;
    Ok(CommandCounts::parse(&info))
}

#[cfg(test)]
mod tests {
    use super::CommandCounts;

    const EARLIER: &str = "# Commandstats\r\ncmdstat_evalsha:calls=2,usec=9,usec_per_call=4.50\r\n";
    const LATER: &str = "# Commandstats\r\ncmdstat_evalsha:calls=5,usec=9,usec_per_call=1.80,\
                         rejected_calls=0,failed_calls=1\r\ncmdstat_script|load:calls=1,usec=3\r\n";

    #[test]
    fn counts_calls_by_command() {
        let counts = CommandCounts::parse(LATER);
        assert_eq!(counts.of("evalsha"), 5);
        assert_eq!(counts.sum(["evalsha", "script|load", "get"]), 6);
    }

    #[test]
    fn counts_only_what_ran_since() {
        let since = CommandCounts::parse(LATER).since(&CommandCounts::parse(EARLIER));
        let since: Vec<_> = since.iter().collect();
        assert_eq!(since, [("evalsha", 3), ("script|load", 1)]);
    }
}
