//! Why does a queue stand still? Diagnosis of a queue as data, for any backend, and the command `qk` around it.
//!
//! [`diagnose`] reads a queue by the contract's calls, and its server by [`Backend::facts`](queue_core::Backend::facts).
//! It returns findings, the worst first. Each has a sentence, its evidence in numbers, and the way out:
//!
//! ```
//! use queue_core::{Leasing, Queues};
//! use queue_memory::MemoryBackend;
//! use queue_ops::{Problem, diagnose};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_core::Result<()> {
//! let queues = Queues::new(MemoryBackend::new());
//! let orders = queues.reliable("orders").open::<u64>().await?;
//! orders.push_all(&[1, 2, 3]).await?;
//! orders.queue().pause().await?;
//!
//! let diagnosis = diagnose(&**queues.backend(), "orders").await?;
//! assert_eq!(diagnosis.findings[0].problem, Problem::Paused);
//! assert_eq!(diagnosis.headline(), "paused; 3 ready wait: `qk resume orders`");
//! # Ok(())
//! # }
//! ```
//!
//! A diagnosis changes nothing, and reads a bounded amount: the counters, the facts, and the first 10,000
//! entries of each place.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod consumers;
mod diagnosis;
mod family;
mod fingerprint;
mod groups;
mod hex;
mod open;
#[cfg(feature = "outbox")]
mod outbox;
mod redaction;
mod samples;
#[cfg(feature = "schedules")]
mod schedules;
mod shell;
mod transfer;
#[cfg(feature = "web")]
pub mod web;
mod words;

#[cfg(feature = "outbox")]
pub use self::outbox::diagnose_outbox;
#[cfg(feature = "schedules")]
pub use self::schedules::{all_schedule_findings, schedule_findings};
pub use self::{
    consumers::{ConsumerInfo, consumers},
    diagnosis::{
        Diagnosis, Finding, Numbers, Problem, Remedy, Severity, clock_finding, config_finding,
        diagnose, diagnose_each, server_facts, server_findings,
    },
    family::{
        CancelledFamily, CancelledIn, ChildrenSeen, Family, ParentJob, StepSeen, StepState,
        cancel_family, family, found_as_json,
    },
    fingerprint::{FailureGroup, fingerprint, group_failures, ids_of_failure},
    groups::{
        group_as_json, group_in_words, group_key, key_in_words, open_grouped, rate_in_words,
        rule_in_words,
    },
    open::list_queues,
    redaction::redacted,
    samples::{Rates, Sample, Sampler},
    shell::ShellCommand,
    transfer::{
        Exported, ExportedBody, ExportedGroup, ExportedMessage, ExportedPlace, ExportedTimeToLive,
        Transferred, export, import, move_messages,
    },
    words::{counted, duration_in_words, holder_in_words, standing_in_words, state_in_words},
};
