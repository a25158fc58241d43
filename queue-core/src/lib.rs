//! The contract of queue-kit in code: five kinds of queue behind one set of traits.
//!
//! | kind | trait | what it does |
//! | --- | --- | --- |
//! | reliable | [`ReliableQueue`] | first in, first out |
//! | delay | [`DelayQueue`] | each message at its due time |
//! | priority | [`PriorityQueue`] | the most urgent first |
//! | bounded | [`BoundedQueue`] | a fixed length, never exceeded |
//! | rotating | [`RotatingQueue`] | a ring, each item in turn |
//!
//! The first four hand out messages under leases ([`Leasing`]). The traits are object-safe and
//! carry bytes; a batch is their primitive. An `…Ext` trait beside each has what callers want:
//! single messages, waiting, splitting of large batches. [`Typed`] puts serde types on top,
//! [`Backend`] opens queues, and [`Queues`] opens typed ones. Beside the queues there is [`Once`],
//! which lets a handler's effect happen once where its message is delivered twice. Handlers around
//! a queue are run by the crate `queue-worker`.
//!
//! Rules are quoted by number (L4, D1 …), as `CONTRACT.md` in the repository numbers them.
//!
//! There is no backend here, and no I/O. Implementing one takes the traits, the checks of
//! [`limits`], and the suite of `queue-conformance` to prove it.

mod backend;
pub mod call;
mod codec;
mod config;
mod counters;
mod dead;
mod error;
mod headers;
mod id;
mod kind;
pub mod limits;
mod message;
mod millis;
mod name;
mod once;
mod page;
mod queue;
mod settlement;
mod spawn;
mod stamp;
mod time;
mod trace_parent;
mod typed;

#[cfg(feature = "msgpack")]
pub use self::codec::MessagePack;
pub use self::{
    backend::{Backend, QueueInfo},
    codec::{Codec, Json, Raw},
    config::{
        BoundedConfig, DelayConfig, LAYOUT_VERSION, LeasingConfig, PriorityConfig, ReliableConfig,
        RotatingConfig, check_capacity, config_mismatch,
    },
    counters::{Counters, Depth},
    dead::{DeadLetter, DeathReason, Revived},
    error::{Error, ErrorKind, Outcome, Result},
    headers::Headers,
    id::{MessageId, Receipt, Token},
    kind::QueueKind,
    message::{Dedup, Delivery, Message, Push, Pushed},
    millis::millis_ceil,
    name::QueueName,
    once::{Claim, Claimed, Once, OnceCounts, OnceRun, OnceStore},
    page::{Cursor, Page, Paged},
    queue::{
        AnyQueue, BoundedQueue, BoundedQueueExt, Cancelled, DelayQueue, DelayQueueExt, Insert,
        Inserted, Leasing, LeasingExt, Offer, Offered, Overflow, Prioritized, PriorityQueue,
        PriorityQueueExt, QueueConfig, ReliableQueue, ReliableQueueExt, Rescheduled, Rotated,
        RotatingQueue, RotatingQueueExt, Scheduled,
    },
    settlement::{Disposition, Extended, Leased, Settled, Settlement},
    spawn::{Running, Spawn, Task, TokioSpawn},
    time::{Due, Timestamp},
    trace_parent::TraceParent,
    typed::{
        Bounded, Consumer, Delay, Priority, Queues, Reliable, Rotating, Typed, TypedDelivery,
        TypedMessage,
    },
};
/// Opaque bytes, as bodies and keys are: cheap to clone.
pub use bytes::Bytes;
