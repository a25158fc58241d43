//! Numbers for machines: Prometheus, autoscalers, probes.

use std::fmt::Write;

use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{Error, QueueInfo, QueueName};

use super::{Web, pages::name, show::Failed};
use crate::{list_queues, open::open_leasing};

/// The gauge for how long messages of a queue have been ready while none was handed out or settled. `/metrics` has it if
/// the queues are sampled, see [`Web::sample_every`](super::Web::sample_every).
pub const STANDSTILL_SECONDS: &str = "queue_kit_standstill_seconds";

/// Queues that are exported.
const MOST: usize = 10_000;

/// The gauges of all queues, under the names that workers use, whether a worker runs or not.
pub(super) async fn metrics(State(web): State<Web>) -> Response {
    match list_queues(&*web.backend, MOST).await {
        Ok(queues) => (
            [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
            render(&web, &queues),
        )
            .into_response(),
        Err(error) => Failed(error).as_text(),
    }
}

fn render(web: &Web, queues: &[QueueInfo]) -> String {
    let mut out = String::new();
    let read = || {
        queues
            .iter()
            .filter_map(|queue| Some((&queue.name, queue.counters?)))
    };
    let mut gauge = |name: &str, values: &mut dyn Iterator<Item = (String, f64)>| {
        let _ = writeln!(out, "# TYPE {name} gauge");
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    };
    let queue = |name: &QueueName| format!("queue=\"{name}\"");
    gauge(
        "queue_kit_messages",
        &mut read().flat_map(|(name, counters)| {
            let depth = counters.depth;
            let places = [
                ("ready", depth.ready),
                ("delayed", depth.delayed),
                ("leased", depth.leased),
                ("dead", depth.dead),
            ];
            places
                .map(|(place, count)| (format!("{},state=\"{place}\"", queue(name)), count as f64))
        }),
    );
    gauge(
        "queue_kit_paused",
        &mut read().map(|(name, counters)| (queue(name), f64::from(u8::from(counters.paused)))),
    );
    gauge(
        "queue_kit_oldest_ready_seconds",
        &mut read().map(|(name, counters)| {
            (
                queue(name),
                counters.oldest_ready.unwrap_or_default().as_secs_f64(),
            )
        }),
    );
    if let Some(watch) = &web.watch {
        gauge(
            STANDSTILL_SECONDS,
            &mut read().filter_map(|(name, _)| {
                let stands = watch.of(name, |sample| sample.stands_for)?;
                Some((queue(name), stands.as_secs_f64()))
            }),
        );
    }
    out
}

/// The messages that want a consumer now: ready and leased ones. One number, for autoscalers.
pub(super) async fn scale(State(web): State<Web>, Path(queue): Path<String>) -> Response {
    let wanted = async {
        let depth = open_leasing(&*web.backend, &name(&queue)?)
            .await?
            .depth()
            .await?;
        Ok::<_, Error>(depth.ready + depth.leased)
    };
    match wanted.await {
        Ok(wanted) => wanted.to_string().into_response(),
        Err(error) => Failed(error).as_text(),
    }
}

/// Whether the backend answers.
pub(super) async fn ready(State(web): State<Web>) -> (StatusCode, String) {
    match web.backend.now().await {
        Ok(_) => (StatusCode::OK, "ready".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
