//! A worker's metrics, through the [`metrics`] facade.
//!
//! Install a recorder before the worker starts. Without one, only sampling costs anything, if you
//! ask for it. Every metric has the label `queue`: the worker's
//! [name for the queue](crate::Worker::named). Outcomes, endings, messages in handlers and handlers' times have the
//! label `job_type`, too, if a [`Router`](crate::Router) handles the queue: the type's name, or `unknown` for all
//! types without a handler.
//!
//! | name | type | unit | other labels | what it shows |
//! | --- | --- | --- | --- | --- |
//! | `queue_kit_deliveries_total` | counter | messages | | deliveries taken |
//! | `queue_kit_outcomes_total` | counter | messages | `outcome` | their outcomes, each once: `acked`, `retried`, `deferred`, `released`, `died`, `lost`, `unconfirmed`, `unsettled`, `abandoned`, as in [`Counts`](crate::Counts) |
//! | `queue_kit_handled_total` | counter | messages | `ending` | their endings: `done`, `deferred`, `failed`, `panicked`, `timed_out`, `undecodable` (no handler was called), `cut_off` |
//! | `queue_kit_in_flight` | gauge | messages | | in handlers now |
//! | `queue_kit_handler_seconds` | histogram | seconds | | from a handler's start to its end; for a batch, once for each message |
//! | `queue_kit_wait_seconds` | histogram | seconds | | from the push to the first delivery, of messages stamped with [`with_pushed_at`](queue_core::Headers::with_pushed_at) |
//! | `queue_kit_lateness_seconds` | histogram | seconds | | from the due time to the first delivery, of messages stamped with [`with_due_at`](queue_core::Headers::with_due_at) |
//! | `queue_kit_leases_lost_total` | counter | leases | | lost while the handler ran, or before its result was settled |
//! | `queue_kit_leases_extended_total` | counter | leases | | extended by heartbeats, or as a handler asked |
//! | `queue_kit_held_up_total` | counter | times | | heartbeats were late by half a lease or more: a handler blocks the worker's thread, or the process stood still |
//! | `queue_kit_calls_total` | counter | calls | `call` | sent to the backend: `settle_and_lease` (lease, settle, or both), `extend`, `counters` |
//! | `queue_kit_call_errors_total` | counter | calls | `call` | those that failed, and `wait` |
//! | `queue_kit_messages` | gauge | messages | `state` | sampled: in the queue, `ready`, `delayed`, `leased` or `dead` |
//! | `queue_kit_oldest_ready_seconds` | gauge | seconds | | sampled: the time since the message at the head of the queue became ready; 0 if none is |
//! | `queue_kit_paused` | gauge | | | sampled: 1 while an operator has paused the queue, else 0 |
//!
//! **Sampled** means: the worker reads it from the queue, by one call of
//! [`counters`](queue_core::Leasing::counters) in each interval, if
//! [`sample_every`](crate::Worker::sample_every) sets one. Let one of several workers sample, because all
//! would read the same. A failed sample counts as an error and leaves the last values.
//!
//! **Measuring waits.** A delivery does not say when its message was pushed, or became ready.
//! `queue_kit_oldest_ready_seconds` is the longest wait at present, from the backend and by its clock; on a
//! delay queue that is the lateness of the next message. The two histograms show the wait of each message, at
//! the price of a header. The wait is from the producer's stamp to the lease, whose time is in the token by
//! the backend's clock. So it is off by the difference of those two clocks, unless the due time is a
//! [`Timestamp`](queue_core::Timestamp), which is the backend's time anyway. The histograms count first
//! attempts only: for a deferred or released message, every delivery before its first failure, counted from
//! the same stamp.
//!
//! The recorder sets buckets. For Prometheus, `metrics-exporter-prometheus` renders histograms as
//! summaries unless you give it some.

mod meters;

use ::metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(crate) use self::meters::Meters;

/// Deliveries taken.
pub const DELIVERIES: &str = "queue_kit_deliveries_total";
/// Deliveries, by `outcome`.
pub const OUTCOMES: &str = "queue_kit_outcomes_total";
/// Handlings, by `ending`.
pub const HANDLED: &str = "queue_kit_handled_total";
/// Messages in handlers.
pub const IN_FLIGHT: &str = "queue_kit_in_flight";
/// The time that handlers take.
pub const HANDLER_SECONDS: &str = "queue_kit_handler_seconds";
/// From the push to the first delivery.
pub const WAIT_SECONDS: &str = "queue_kit_wait_seconds";
/// From the due time to the first delivery.
pub const LATENESS_SECONDS: &str = "queue_kit_lateness_seconds";
/// Leases lost.
pub const LEASES_LOST: &str = "queue_kit_leases_lost_total";
/// Leases extended.
pub const LEASES_EXTENDED: &str = "queue_kit_leases_extended_total";
/// Late heartbeats.
pub const HELD_UP: &str = "queue_kit_held_up_total";
/// Calls sent, by `call`.
pub const CALLS: &str = "queue_kit_calls_total";
/// Calls that failed, by `call`.
pub const CALL_ERRORS: &str = "queue_kit_call_errors_total";
/// Messages in the queue, by `state`.
pub const MESSAGES: &str = "queue_kit_messages";
/// The time since the oldest ready message became ready.
pub const OLDEST_READY_SECONDS: &str = "queue_kit_oldest_ready_seconds";
/// Whether the queue is paused.
pub const PAUSED: &str = "queue_kit_paused";

/// Describes each metric to the recorder. A worker does so when it starts.
pub fn describe() {
    let count = Unit::Count;
    describe_counter!(DELIVERIES, count, "Deliveries taken");
    describe_counter!(OUTCOMES, count, "Deliveries by outcome");
    describe_counter!(HANDLED, count, "Messages by the end of their handling");
    describe_gauge!(IN_FLIGHT, count, "Messages in handlers");
    let seconds = Unit::Seconds;
    describe_histogram!(HANDLER_SECONDS, seconds, "The time that handlers take");
    describe_histogram!(
        WAIT_SECONDS,
        seconds,
        "From the push to the first delivery, of stamped messages"
    );
    describe_histogram!(
        LATENESS_SECONDS,
        seconds,
        "From the due time to the first delivery, of stamped messages"
    );
    describe_counter!(LEASES_LOST, count, "Leases lost");
    describe_counter!(LEASES_EXTENDED, count, "Leases extended");
    describe_counter!(HELD_UP, count, "Heartbeats late by half a lease or more");
    describe_counter!(CALLS, count, "Calls sent to the backend");
    describe_counter!(CALL_ERRORS, count, "Calls to the backend that failed");
    describe_gauge!(MESSAGES, count, "Messages in the queue, sampled");
    describe_gauge!(
        OLDEST_READY_SECONDS,
        seconds,
        "The time since the oldest ready message became ready, sampled"
    );
    describe_gauge!(PAUSED, "1 while the queue is paused, sampled");
}
