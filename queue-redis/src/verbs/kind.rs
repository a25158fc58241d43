//! A kind of queue that leases: its scripts, and the messages that producers push.

use std::fmt::Debug;

use bytes::Bytes;
use queue_core::{Push, Result};
use redis_link::ScriptCall;

use crate::{frame, reply::Reply, script::Script, scripts::LeasingScripts};

/// A kind of queue that leases.
pub(crate) trait LeasingKind: Debug + Send + Sync + 'static {
    /// A message as a producer pushes it.
    type Message: Clone + Debug + Send + Sync + 'static;
    /// The reply for one message.
    type Pushed: Clone + Send + Sync + 'static;

    /// Bytes of a frame before headers and body.
    const HEAD: usize = frame::HEAD;
    /// The scripts that every leasing queue has.
    const SCRIPTS: &LeasingScripts;
    /// The script that pushes messages.
    const PUSH: &Script;
    /// Whether that script takes packs.
    const PACKS: bool = false;
    /// The number of modes of a push. A mode is a number from zero on. Different modes never share a call.
    const PUSH_MODES: usize = 1;

    /// The part of a message that all kinds have.
    fn push(message: &Self::Message) -> &Push;

    /// Adds the arguments of a push between the number of messages and their payloads.
    fn add_before(_batch: &[Self::Message], _mode: usize, _call: &mut ScriptCall) {}

    /// The distinct key of a message.
    fn distinct(_message: &Self::Message) -> Option<&Bytes> {
        None
    }

    /// Reads the reply to a push of `messages` messages.
    fn replies(reply: Reply, messages: usize) -> Result<Vec<Self::Pushed>>;
}
