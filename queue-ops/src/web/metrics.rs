//! Numbers for machines: Prometheus, autoscalers, probes.

use std::fmt::Write;

use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{Error, Page, QueueInfo, QueueKind, QueueName, limits, with_sources};

use super::{
    Web,
    asked::{InQueue, name},
    show::Failed,
};
use crate::{list_queues, open::open_leasing, open_grouped};

/// The gauge for how long messages of a queue have been ready while none was handed out or settled. `/metrics` has it if
/// the queues are sampled, see [`Web::sample_every`](super::Web::sample_every).
pub const STANDSTILL_SECONDS: &str = "queue_kit_standstill_seconds";

/// The gauge for the number of groups of a grouped queue.
pub const GROUPS: &str = "queue_kit_groups";

/// The gauge for the share of the busiest group in the ready messages of a grouped queue, among its first 1,000 groups.
pub const BUSIEST_GROUP_SHARE: &str = "queue_kit_busiest_group_share";

/// Queues that are exported.
const MOST: usize = 10_000;
/// Grouped queues whose groups are read: each costs the server some milliseconds.
const MOST_GROUPED: usize = 20;

/// The gauges of all queues, under the names that workers use, whether a worker runs or not.
pub(super) async fn metrics(State(web): State<Web>) -> Response {
    match list_queues(&*web.backend, MOST).await {
        Ok(queues) => {
            let shares = shares(&web, &queues).await;
            (
                [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
                render(&web, &queues, &shares),
            )
                .into_response()
        }
        Err(error) => Failed(error).as_text(),
    }
}

/// The share of the busiest group, of each grouped queue with ready messages that can be read.
async fn shares(web: &Web, queues: &[QueueInfo]) -> Vec<(QueueName, f64)> {
    let grouped = queues.iter().filter(|queue| {
        let counters = queue.counters.unwrap_or_default();
        queue.kind == QueueKind::Grouped && counters.depth.ready > 0
    });
    let mut shares = Vec::new();
    for queue in grouped.take(MOST_GROUPED) {
        let Ok(opened) = open_grouped(&*web.backend, &queue.name).await else {
            continue;
        };
        let Ok(page) = opened.groups(Page::first(limits::MAX_PAGE)).await else {
            continue;
        };
        let ready = page.entries.iter().map(|group| group.ready);
        let (busiest, all) = ready.fold((0, 0), |(most, sum), one| (one.max(most), sum + one));
        if all > 0 {
            shares.push((queue.name.clone(), busiest as f64 / all as f64));
        }
    }
    shares
}

fn render(web: &Web, queues: &[QueueInfo], shares: &[(QueueName, f64)]) -> String {
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
    gauge(
        GROUPS,
        &mut queues.iter().filter_map(|info| {
            let counters = info.counters.filter(|_| info.kind == QueueKind::Grouped)?;
            Some((queue(&info.name), counters.groups as f64))
        }),
    );
    gauge(
        BUSIEST_GROUP_SHARE,
        &mut shares.iter().map(|(name, share)| (queue(name), *share)),
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
pub(super) async fn scale(
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
) -> Response {
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
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, with_sources(&error)),
    }
}
