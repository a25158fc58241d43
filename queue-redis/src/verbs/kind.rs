//! A kind of queue that leases: its scripts, and the arguments of a push that are its own.

use std::fmt::Debug;

use queue_core::{Push, QueueKind};
use redis_link::ScriptCall;

use crate::{frame, scripts::LeasingScripts};

/// A kind of queue that leases.
pub(crate) trait LeasingKind: Debug + Send + Sync + 'static {
    /// Its kind.
    const KIND: QueueKind;
    /// Bytes of a frame before headers and body.
    const HEAD: usize = frame::HEAD;
    /// Its scripts.
    const SCRIPTS: &LeasingScripts;
    /// Whether its script for pushes takes packs.
    const PACKS: bool = false;

    /// Adds the arguments of a push between the number of messages and their payloads.
    fn add_before(_batch: &[Push], _call: &mut ScriptCall) {}
}
