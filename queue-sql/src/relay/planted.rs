//! Bugs planted into the relay, which its tests look for.

/// A bug of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// Deletes rows and commits before it pushes.
    DeleteFirst,
    /// Pushes without the key of the row.
    NoKey,
    /// Begins its scans behind the greatest id that it has seen.
    SkipsLateCommits,
    /// Sleeps until a wake-up comes, and does not poll.
    NoPoll,
}
