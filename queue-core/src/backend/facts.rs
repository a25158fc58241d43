//! Facts about a queue and its server that calls do not show, for diagnosis.

use std::time::Duration;

use serde::Serialize;

use crate::{Timestamp, values::in_json};

/// Facts about a queue that its calls do not show. A field is `None`, or empty, where the backend cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// How many consumers wait for messages of the queue: callers in this process, or processes on a server.
    pub waiting: Option<u64>,
    /// The holders' names of those that wait, where they have told them.
    pub waiting_holders: Vec<String>,
    /// How many producers wait for room.
    pub waiting_for_room: Option<u64>,
    /// The server that has the queue.
    pub server: Option<ServerFacts>,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Its address.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its time.
    pub now: Timestamp,
    /// Bytes of memory that it uses.
    pub memory: u64,
    /// Bytes of memory that it may use; `None` without a limit.
    pub memory_limit: Option<u64>,
    /// Why it refuses writes at present.
    pub refuses_writes: Option<String>,
    /// The node of a cluster to which the queue is moving at present.
    pub moving_to: Option<String>,
    /// Calls that it refused because a user lacks a right, the latest first.
    pub denied: Vec<Denied>,
    /// Settings and states that do not stop a queue now, and may do harm later.
    pub warnings: Vec<String>,
    /// The folder, if the queues are in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderFacts>,
}

/// A folder of queues, of which one process at a time has the queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct FolderFacts {
    /// The number of the process that has the folder, or had it last.
    pub owner: Option<u32>,
    /// Whether a process has the folder now.
    pub held: bool,
    /// The bytes that are free on its disk.
    pub free: Option<u64>,
    /// The bytes that have to be free before pushes are taken; 0 while pushes are taken.
    pub needed: u64,
    /// How long the last syncs of the owner took.
    pub syncs: Option<SyncFacts>,
}

/// How long the last syncs of a disk took.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct SyncFacts {
    /// The number of syncs.
    pub count: u64,
    /// Half of them took this time or longer.
    #[serde(rename = "median_ms", serialize_with = "in_json::millis")]
    pub median: Duration,
    /// The slowest of them.
    #[serde(rename = "slowest_ms", serialize_with = "in_json::millis")]
    pub slowest: Duration,
    /// When the last of them ended.
    pub last: Timestamp,
}

/// A call that a server refused because of missing rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Denied {
    /// The user.
    pub user: String,
    /// The command or key that the user may not use.
    pub what: String,
    /// How often.
    pub times: u64,
    /// The time since the last one.
    #[serde(rename = "age_ms", serialize_with = "in_json::millis")]
    pub age: Duration,
}

impl Denied {
    /// A refusal.
    pub const fn new(user: String, what: String, times: u64, age: Duration) -> Self {
        Self {
            user,
            what,
            times,
            age,
        }
    }
}
