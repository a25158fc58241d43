//! Spans of a relay.

use std::future::Future;

use queue_core::Push;
use tracing::{Instrument, Span, error_span};

/// Pushes rows of a queue in a span `relay`. A row whose headers have a trace context has a span of its own in it, `row`,
/// for as long as the push takes.
///
/// The spans have an error's level, so that no filter by level leaves their events alone.
pub(super) async fn within<T>(
    queue: &str,
    rows: &[(i64, Push)],
    push: impl Future<Output = T>,
) -> T {
    let count = rows.len();
    let relay = error_span!(target: "queue_kit", parent: None, "relay", queue, rows = count);
    let row = |(id, push): &(i64, Push)| {
        let parent = push.headers.trace_parent()?;
        Some(error_span!(
            target: "queue_kit",
            parent: &relay,
            "row",
            id,
            trace_id = %format_args!("{:032x}", parent.trace_id()),
            parent_id = %format_args!("{:016x}", parent.span_id()),
        ))
    };
    let open: Vec<Span> = rows.iter().filter_map(row).collect();
    let pushed = push.instrument(relay.clone()).await;
    drop(open);
    pushed
}
