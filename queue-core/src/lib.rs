//! The contract of queue-kit in code: the kinds of queue behind one set of traits. Use this crate to write a
//! backend, or a layer in front of one; programs get all of it from the crate `queue-kit`.
//!
//! [`QueueKind`] lists the kinds, each with its trait. All but the ring hand out messages under leases
//! ([`Leasing`]). The traits are object-safe and carry bytes; a batch is their primitive. An `…Ext` trait
//! beside each serves callers: it takes single messages, waits, and splits large batches. [`Typed`] puts
//! serde types on top, [`Backend`] opens queues, and [`Queues`] opens typed ones. [`Once`] is no queue: it
//! makes a handler's effect happen once, though the message is delivered twice. The crate `queue-worker` runs
//! handlers around a queue.
//!
//! The docs quote rules by their numbers in the repository's `CONTRACT.md` (L4, D1 …).
//!
//! This crate has no backend and no I/O. Authors of backends implement the traits, call the checks of
//! [`limits`], and test the result by the suite of `queue-conformance`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
pub mod call;
mod codec;
mod once;
mod operators;
#[cfg(doctest)]
mod overlooked;
mod partitioned;
mod queue;
mod spawn;
mod steps;
mod typed;
mod values;

#[cfg(feature = "msgpack")]
pub use self::codec::MessagePack;
pub use self::{
    backend::{
        Backend, Caveat, Condition, Denied, Facts, Feature, FolderFacts, Guarantees, Layered,
        QueueInfo, Removal, ServerFacts, StoredQueue, SyncFacts,
    },
    codec::{Decode, Encode, Json, Raw},
    once::{Claim, Claimed, Once, OnceCounts, OnceRun, OnceStore},
    operators::{
        JobTimes, Listed, OperatorsList, OperatorsRecord, RefusalRecord, TIMES_MINUTES,
        TimesHistogram, TimesMinute, TimesRecord, WORKER_LIST, WishRecord, WorkerInfo,
        WorkerRecord, WorkerRegistration, WorkerState, WorkerWish, ask_worker, is_operators_list,
        job_times, workers,
    },
    partitioned::Partitioned,
    queue::*,
    spawn::{Running, Spawn, Task, TokioSpawn},
    steps::{ChildrenRecord, IdRun, Step, StepRecord, Steps},
    typed::*,
    values::*,
};
/// Opaque bytes, as bodies and keys are: cheap to clone.
pub use bytes::Bytes;
