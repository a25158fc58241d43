//! The stored record of a schedule.

use queue_core::{Error, ErrorKind, MessageId, Result, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Missed, Periodic, calendar::Rule};

/// A program's definition of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    pub(crate) rule: Rule,
    pub(crate) missed: Missed,
    pub(crate) queue: String,
    #[serde(default)]
    pub(crate) unless_running: bool,
    /// The rule that an operator has set in place of the program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<Rule>,
}

impl Definition {
    pub(crate) fn of(periodic: &Periodic, queue: &str) -> Self {
        Self {
            rule: periodic.rule.clone(),
            missed: periodic.missed,
            queue: queue.to_owned(),
            unless_running: periodic.unless_running,
            edited: None,
        }
    }

    /// The rule by which it has slots.
    pub(crate) fn present_rule(&self) -> &Rule {
        self.edited.as_ref().unwrap_or(&self.rule)
    }

    /// Whether a program asks for it, apart from an operator's edit.
    pub(crate) fn is_of_program(&self, program: &Self) -> bool {
        let edited = program.edited.clone();
        let own = Self {
            edited,
            ..self.clone()
        };
        own == *program
    }

    pub(crate) fn text(&self) -> String {
        let (rule, missed, queue) = (self.rule.text(), self.missed, &self.queue);
        let at_once = if self.unless_running {
            ", unless running"
        } else {
            ""
        };
        format!("{rule}, missed: {missed:?}{at_once}, on {queue}")
    }
}

/// A slot of which somebody pushes the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimedSlot {
    pub(crate) at: u64,
    /// An operator asked for it.
    pub(crate) asked: bool,
}

/// A schedule as it is stored. A field that this version does not know makes it unreadable: this version would drop it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) definition: Definition,
    pub(crate) state: State,
    /// Counts the changes. A slot's dedup key has it, so a new definition has keys of its own.
    pub(crate) epoch: u64,
    /// All slots up to this time have their messages, or were skipped.
    pub(crate) done: u64,
    /// Slots that get their messages now.
    pub(crate) claims: Vec<ClaimedSlot>,
    /// Times at which an operator asked for a run.
    pub(crate) asked: Vec<u64>,
    /// The latest time for which a run was asked for: each run has a time of its own, and so a key.
    #[serde(default)]
    pub(crate) last_asked: u64,
    /// The message that was pushed last, if one may run at a time.
    #[serde(default)]
    pub(crate) last: Option<MessageId>,
    /// A change that has begun: whoever sees it completes it.
    pub(crate) change: Option<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Enabled,
    Disabled,
    /// It stays stored, so that a scheduler that was slow cannot bring it back.
    Removed,
}

/// The definition and state that a change gives to a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub(crate) definition: Definition,
    pub(crate) state: State,
}

impl Record {
    /// A new schedule, whose first slot comes after `now`.
    pub(crate) const fn new(definition: Definition, now: Timestamp) -> Self {
        Self {
            definition,
            state: State::Enabled,
            epoch: 1,
            done: now.as_millis(),
            claims: Vec::new(),
            asked: Vec::new(),
            last_asked: 0,
            last: None,
            change: None,
        }
    }

    /// The dedup key of a slot's message.
    pub(crate) fn key(&self, schedules: &str, name: &str, slot: ClaimedSlot) -> String {
        let (epoch, at) = (self.epoch, slot.at);
        let mark = if slot.asked { "+" } else { "@" };
        let whole = format!("{schedules}/{name}#{epoch}{mark}{at}");
        match whole.len() {
            0..=256 => whole,
            // Two names of 128 bytes leave too little room for the numbers.
            _ => format!("{}#{epoch}{mark}{at}", &name),
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let message = |error| {
            Error::new(
                ErrorKind::Codec,
                format!("JSON cannot encode a schedule: {error}"),
            )
        };
        serde_json::to_vec(self).map_err(message)
    }

    pub(crate) fn read(name: &str, body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body).map_err(|error| {
            Error::new(
                ErrorKind::Codec,
                format!(
                    "the stored schedule `{name}` cannot be read: {error}. It is damaged, or a later version of its \
                     program wrote it: use that version, or remove it, or replace it by `change_job`"
                ),
            )
        })
    }

    /// The readable parts of an unreadable record, as a disabled schedule.
    pub(crate) fn salvage(body: &[u8], now: Timestamp) -> Self {
        let whole: Value = serde_json::from_slice(body).unwrap_or_default();
        let unknown = || "?".to_owned();
        Self {
            definition: Definition {
                rule: part(&whole, "/definition/rule").unwrap_or_else(|| Rule::Cron {
                    expression: unknown(),
                    zone: unknown(),
                }),
                missed: part(&whole, "/definition/missed").unwrap_or_default(),
                queue: part(&whole, "/definition/queue").unwrap_or_default(),
                unless_running: part(&whole, "/definition/unless_running").unwrap_or_default(),
                edited: part(&whole, "/definition/edited").unwrap_or_default(),
            },
            state: State::Disabled,
            // Higher than any number of changes, so that keys are new.
            epoch: part(&whole, "/epoch").unwrap_or(now.as_millis()),
            done: part(&whole, "/done").unwrap_or_default(),
            claims: part(&whole, "/claims").unwrap_or_default(),
            asked: Vec::new(),
            last_asked: part(&whole, "/last_asked").unwrap_or_default(),
            last: None,
            change: None,
        }
    }
}

fn part<Part: DeserializeOwned>(whole: &Value, path: &str) -> Option<Part> {
    Part::deserialize(whole.pointer(path)?).ok()
}
