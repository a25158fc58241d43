//! The turns of groups.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::entry::ModelEntry;

/// Groups in the order in which they are shown: the shortest key first, then by its bytes.
pub(super) type Name = (usize, Bytes);

/// The turns of the groups that have ready messages or held places, and the virtual time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Turns {
    pub(super) turns: BTreeMap<Name, u64>,
    pub(super) time: u64,
}

/// The name of a message's group; the same for all messages where there are no groups.
pub(super) fn name(entry: &ModelEntry) -> Name {
    (entry.key.len(), entry.key.clone())
}
