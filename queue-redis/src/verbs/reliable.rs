//! The reliable queue.

use queue_core::{QueueKind, ReliableQueue};

use super::{Queue, kind::LeasingKind};
use crate::scripts::{self, LeasingScripts};

/// Delivers in order: first in, first out.
#[derive(Debug)]
pub(crate) enum Reliable {}

impl LeasingKind for Reliable {
    const KIND: QueueKind = QueueKind::Reliable;
    const SCRIPTS: &LeasingScripts = &scripts::RELIABLE;
    const PACKS: bool = true;
}

impl ReliableQueue for Queue<Reliable> {}
