//! What a server has spent on each command, from `INFO commandstats`.

use std::collections::BTreeMap;

/// The calls of each command and the microseconds that they took, by lower-case name.
///
/// A script's commands count in the script's call, and under their own names, too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandStats(BTreeMap<String, Spent>);

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Spent {
    calls: u64,
    micros: f64,
}

impl CommandStats {
    /// Reads the server's text.
    pub fn parse(info: &str) -> Self {
        let entry = |line: &str| {
            let (name, values) = line.strip_prefix("cmdstat_")?.split_once(':')?;
            let calls = values.split(',').find_map(|v| v.strip_prefix("calls="))?;
            let micros = values.split(',').find_map(|v| v.strip_prefix("usec="))?;
            let spent = Spent {
                calls: calls.parse().ok()?,
                micros: micros.parse().ok()?,
            };
            Some((name.to_owned(), spent))
        };
        Self(info.lines().filter_map(entry).collect())
    }

    /// What was spent since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let more = self.0.iter().map(|(name, now)| {
            let before = earlier.spent(name);
            let spent = Spent {
                calls: now.calls.saturating_sub(before.calls),
                micros: now.micros - before.micros,
            };
            (name.clone(), spent)
        });
        Self(more.collect())
    }

    /// The calls of all commands, those inside scripts, too, but not the `INFO` that asks for them.
    pub fn calls(&self) -> u64 {
        let others = self.0.iter().filter(|(name, _)| *name != "info");
        others.map(|(_, spent)| spent.calls).sum()
    }

    /// The microseconds of all calls of these commands.
    pub fn micros(&self, commands: &[&str]) -> f64 {
        commands.iter().map(|name| self.spent(name).micros).sum()
    }

    /// The microseconds of what clients sent: of each command so many calls.
    ///
    /// If scripts made calls of the same command, the microseconds are shared out by calls, since the
    /// server does not tell them apart.
    pub fn micros_of(&self, sent: &BTreeMap<String, u64>) -> f64 {
        let shares = sent.iter().map(|(name, sent)| {
            let spent = self.spent(name);
            spent.micros * *sent as f64 / spent.calls.max(*sent).max(1) as f64
        });
        shares.sum()
    }

    fn spent(&self, name: &str) -> Spent {
        self.0.get(name).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = "# Commandstats\r\ncmdstat_eval:calls=2,usec=9,usec_per_call=4.50\r\n";
    const LATER: &str = "# Commandstats\r\ncmdstat_eval:calls=5,usec=39,usec_per_call=7.80,\
                         rejected_calls=0,failed_calls=1\r\ncmdstat_zadd:calls=8,usec=16,\
                         usec_per_call=2.00\r\ncmdstat_script|load:calls=1,usec=3\r\n";

    fn spent() -> CommandStats {
        CommandStats::parse(LATER).since(&CommandStats::parse(EARLIER))
    }

    #[test]
    fn what_was_spent_since_is_told_by_command() {
        assert_eq!(spent().micros(&["eval"]), 30.0);
        assert_eq!(spent().calls(), 3 + 8 + 1);
        let asked = CommandStats::parse("cmdstat_info:calls=9,usec=1,usec_per_call=0.11");
        assert_eq!(asked.calls(), 0);
        assert_eq!(spent().micros(&["eval", "script|load", "get"]), 33.0);
    }

    #[test]
    fn a_script_s_own_calls_are_not_counted_twice() {
        let sent = |calls: &[(&str, u64)]| {
            let calls = calls
                .iter()
                .map(|(name, calls)| ((*name).to_owned(), *calls));
            spent().micros_of(&calls.collect())
        };
        assert_eq!(sent(&[("eval", 3)]), 30.0);
        // Two of the eight were a client's.
        assert_eq!(sent(&[("eval", 3), ("zadd", 2)]), 34.0);
        assert_eq!(sent(&[("get", 3)]), 0.0);
    }
}
