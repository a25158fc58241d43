//! The contract of queue-kit in code: the kinds of queue behind one set of traits. Open it to
//! write a backend, or a layer in front of one; programs get all of it from the crate `queue-kit`.
//!
//! [`QueueKind`] lists the kinds, each with its trait. All but the ring hand out messages under
//! leases ([`Leasing`]). The traits are object-safe and carry bytes; a batch is their primitive. An `…Ext` trait beside each serves callers: it takes
//! single messages, waits, and splits large batches. [`Typed`] puts serde types on top, [`Backend`]
//! opens queues, and [`Queues`] opens typed ones. [`Once`] stands beside the queues: a handler's
//! effect happens once under it, though its message is delivered twice. The crate `queue-worker`
//! runs handlers around a queue.
//!
//! The docs quote rules by their numbers in the repository's `CONTRACT.md` (L4, D1 …).
//!
//! This crate has no backend and no I/O. Authors of backends implement the traits, call the checks
//! of [`limits`], and prove the result by the suite of `queue-conformance`.

mod backend;
pub mod call;
mod cancel;
mod codec;
mod config;
mod confirmation;
mod counters;
mod dead;
mod error;
mod error_chain;
mod guarantees;
mod headers;
mod holder;
mod id;
mod kind;
pub mod limits;
mod message;
mod millis;
mod name;
mod once;
mod page;
mod partitioned;
mod peek;
mod queue;
mod removal;
mod sanitized;
mod settlement;
mod spawn;
mod time;
mod time_to_live;
mod timestamps;
mod trace_parent;
mod typed;

#[cfg(feature = "msgpack")]
pub use self::codec::MessagePack;
pub use self::{
    backend::{Backend, QueueInfo, QueueState, StoredQueue},
    cancel::Cancelled,
    codec::{Codec, Json, Raw},
    config::{LAYOUT_VERSION, LeasingConfig, config_mismatch},
    confirmation::{Confirmation, Confirmed, Confirmer, Copies},
    counters::{Counters, Depth},
    dead::{DeadLetter, DeathReason, Revived},
    error::{Error, ErrorKind, Outcome, Result},
    error_chain::with_sources,
    guarantees::{Caveat, Condition, Feature, Guarantees},
    headers::Headers,
    holder::Holder,
    id::{MessageId, Receipt, Token},
    kind::QueueKind,
    message::{Dedup, Delivery, Message, Push, Pushed},
    millis::{in_millis, millis_ceil},
    name::QueueName,
    once::{Claim, Claimed, Once, OnceCounts, OnceRun, OnceStore},
    page::{Cursor, Page, Paged},
    partitioned::Partitioned,
    peek::{Peeked, Place, Standing},
    queue::*,
    removal::Removal,
    settlement::{Disposition, Extended, Leased, Settled, Settlement},
    spawn::{Running, Spawn, Task, TokioSpawn},
    time::{Due, Timestamp},
    time_to_live::{Outdated, TimeToLive},
    trace_parent::TraceParent,
    typed::*,
};
/// Opaque bytes, as bodies and keys are: cheap to clone.
pub use bytes::Bytes;
