//! The time that a server has spent on each command.

use std::collections::BTreeMap;

use redis::{Connection, RedisResult};

/// The calls of each command and the microseconds that they took, by its lower-case name (`evalsha`,
/// `script|load`).
///
/// Commands that a script runs count under their own names; their time is also part of the script's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandCounts(BTreeMap<String, Spent>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spent {
    calls: u64,
    micros: u64,
}

impl CommandCounts {
    /// Reads the text of `INFO commandstats`.
    pub fn parse(info: &str) -> Self {
        let counts = info.lines().filter_map(|line| {
            let (name, values) = line.strip_prefix("cmdstat_")?.split_once(':')?;
            let value = |field| {
                let text = values.split(',').find_map(|v| v.strip_prefix(field))?;
                text.parse().ok()
            };
            let spent = Spent {
                calls: value("calls=")?,
                micros: value("usec=")?,
            };
            Some((name.to_owned(), spent))
        });
        Self(counts.collect())
    }

    /// The calls of this command.
    pub fn of(&self, command: &str) -> u64 {
        self.spent(command).calls
    }

    /// The microseconds of this command's calls.
    pub fn micros(&self, command: &str) -> u64 {
        self.spent(command).micros
    }

    /// The calls of all these commands together.
    pub fn sum<'a>(&self, commands: impl IntoIterator<Item = &'a str>) -> u64 {
        commands.into_iter().map(|command| self.of(command)).sum()
    }

    /// The calls of all commands, but not the `INFO` that asks for them.
    pub fn all(&self) -> u64 {
        let others = self.iter().filter(|(name, _)| *name != "info");
        others.map(|(_, calls)| calls).sum()
    }

    /// The difference to `earlier`, without commands that had no calls.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let more = self.0.iter().filter_map(|(name, now)| {
            let before = earlier.spent(name);
            let spent = Spent {
                calls: now.calls.saturating_sub(before.calls),
                micros: now.micros.saturating_sub(before.micros),
            };
            (spent.calls > 0).then(|| (name.clone(), spent))
        });
        Self(more.collect())
    }

    /// Every command and its calls, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        let each = self.0.iter();
        each.map(|(name, spent)| (name.as_str(), spent.calls))
    }

    fn spent(&self, command: &str) -> Spent {
        self.0.get(command).copied().unwrap_or_default()
    }
}

/// Asks a server for its `INFO commandstats`.
///
/// # Errors
///
/// The errors of the server or the connection.
pub fn command_counts(connection: &mut Connection) -> RedisResult<CommandCounts> {
    let info: String = redis::cmd("INFO").arg("commandstats").query(connection)?;
    Ok(CommandCounts::parse(&info))
}

#[cfg(test)]
mod tests {
    use super::CommandCounts;

    const EARLIER: &str = "# Commandstats\r\ncmdstat_evalsha:calls=2,usec=9,usec_per_call=4.50\r\n\
                           cmdstat_info:calls=9,usec=1,usec_per_call=0.11\r\n";
    const LATER: &str = "# Commandstats\r\ncmdstat_evalsha:calls=5,usec=39,usec_per_call=7.80,\
                         rejected_calls=0,failed_calls=1\r\ncmdstat_script|load:calls=1,usec=3\r\n\
                         cmdstat_info:calls=9,usec=1,usec_per_call=0.11\r\n";

    #[test]
    fn counts_calls_and_microseconds_by_command() {
        let counts = CommandCounts::parse(LATER);
        assert_eq!((counts.of("evalsha"), counts.micros("evalsha")), (5, 39));
        assert_eq!((counts.of("get"), counts.micros("get")), (0, 0));
        assert_eq!(counts.sum(["evalsha", "script|load", "get"]), 6);
        assert_eq!(counts.all(), 5 + 1);
    }

    #[test]
    fn counts_only_what_ran_since() {
        let since = CommandCounts::parse(LATER).since(&CommandCounts::parse(EARLIER));
        let calls: Vec<_> = since.iter().collect();
        assert_eq!(calls, [("evalsha", 3), ("script|load", 1)]);
        assert_eq!(since.micros("evalsha"), 30);
    }
}
