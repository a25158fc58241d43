mod levels;

use std::time::Duration;

use queue_core::{Condition, Error, Guarantees, QueueKind, Result};
use redis::cmd;

use self::levels::Levels;
use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    lists::popped,
    pops::{BlockingPop, Pops},
    settings::check_time,
};

/// A list for each priority, popped from the most urgent down.
///
/// | key | holds |
/// | --- | --- |
/// | `{…}:high`, `{…}:normal`, `{…}:low` | lists of the bodies of priority 10, 0 and −10, the oldest last; ours by name |
/// | `{…}:dead` | a list of buried bodies; ours, not published |
///
/// Use it for a few levels of work that may be lost. A message is gone from the server as soon as it is handed out (L5,
/// L8). A retry goes to the tail of its level at once (L11). Less urgent messages may starve. A priority without a
/// level is `Invalid`. `LMPOP` takes from the first non-empty list. On a server without it (before 7.0), `RPOP` asks
/// one level after another, so a message may be overtaken by a less urgent one (P1).
#[derive(Debug, Clone)]
pub struct PriorityLists {
    levels: Vec<(i16, String)>,
    /// Whether the levels hold full key names, not just the ends of names.
    are_keys: bool,
    dead_key: Option<String>,
    timeout: Duration,
}

impl Default for PriorityLists {
    fn default() -> Self {
        let levels = [(10, "high"), (0, "normal"), (-10, "low")];
        Self {
            levels: levels
                .map(|(priority, name)| (priority, name.to_owned()))
                .into(),
            are_keys: false,
            dead_key: None,
            timeout: Duration::from_secs(5),
        }
    }
}

impl PriorityLists {
    /// Other levels: each a priority, and the end of its list's name. `high` is the list `{jobs}:high` of
    /// the queue `jobs`.
    #[must_use]
    pub fn levels(self, levels: impl IntoIterator<Item = (i16, impl Into<String>)>) -> Self {
        self.by_level(levels, false)
    }

    /// Other levels: each a priority and its list, for programs that have their own names for the lists.
    #[must_use]
    pub fn level_keys(self, levels: impl IntoIterator<Item = (i16, impl Into<String>)>) -> Self {
        self.by_level(levels, true)
    }

    fn by_level(
        mut self,
        levels: impl IntoIterator<Item = (i16, impl Into<String>)>,
        are_keys: bool,
    ) -> Self {
        self.are_keys = are_keys;
        let levels = levels
            .into_iter()
            .map(|(priority, name)| (priority, name.into()));
        self.levels = levels.collect();
        self.levels
            .sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
        self
    }

    /// The list of dead letters. By default `{jobs}:dead` for the queue `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// How long the server blocks a pop: 1 ms to 7 days, 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for PriorityLists {
    fn guarantees(&self) -> Guarantees {
        let mut guarantees = declared::at_most_once("priority-lists", QueueKind::Priority)
            .caveat("L11", Condition::NoFaults, "a retry has no delay")
            .caveat(
                "P1",
                Condition::NoFaults,
                "a client that blocks is served while a MULTI still pushes",
            )
            .caveat("P2", Condition::NoFaults, declared::POPPED_AHEAD)
            .caveat("P3", Condition::NoFaults, declared::POPPED_AHEAD)
            .caveat("P4", Condition::Absent, "it has no ageing");
        guarantees.priorities = self.levels.iter().map(|(priority, _)| *priority).collect();
        guarantees
    }

    fn check(&self) -> Result<()> {
        check_levels(&self.levels)?;
        check_time("timeout", self.timeout)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let name = opening.key(None);
        let list = |level: &String| companion(self.are_keys.then_some(level), &name, level);
        let levels = self.levels.iter();
        let levels = levels.map(|(priority, level)| (*priority, list(level)));
        let levels: Vec<(i16, String)> = levels.collect();
        let lists: Vec<&String> = levels.iter().map(|(_, list)| list).collect();
        let pop = BlockingPop {
            command: cmd("BRPOP").arg(lists).take(),
            longest: self.timeout,
            read: popped,
        };
        let first = levels[0].1.clone();
        let dead = companion(self.dead_key.as_ref(), &name, "dead");
        opening.shell(self.guarantees(), first, move |server| Levels {
            levels,
            dead,
            pops: Pops::new(server, pop),
        })
    }
}

/// Checks that the levels have different priorities, because a message belongs to one level.
fn check_levels(levels: &[(i16, String)]) -> Result<()> {
    if levels.is_empty() {
        return Err(Error::invalid("priority lists of no level: at least one"));
    }
    for (nth, (priority, name)) in levels.iter().enumerate() {
        let mut before = levels[..nth].iter();
        if before.any(|(other, _)| other == priority) {
            return Err(Error::invalid(format!(
                "the level {name} of priority {priority}: another level has this priority"
            )));
        }
    }
    Ok(())
}
