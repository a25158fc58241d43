//! Numbers for machines: Prometheus, autoscalers, probes.

use std::{fmt::Write, num::NonZeroUsize};

use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{Error, QueueInfo, limits};

use super::{
    Web,
    pages::{leasing, name},
    show::Failed,
};

/// Pages of queues that are exported.
const PAGES: usize = 10;

/// The gauges of all queues, under the names that workers use, whether a worker runs or not.
pub(super) async fn metrics(State(web): State<Web>) -> Response {
    match all(&web).await {
        Ok(queues) => (
            [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
            render(&queues),
        )
            .into_response(),
        Err(error) => {
            let failed = Failed(error);
            (failed.status(), failed.0.to_string()).into_response()
        }
    }
}

async fn all(web: &Web) -> Result<Vec<QueueInfo>, Error> {
    let page = NonZeroUsize::new(limits::MAX_PAGE).expect("more than 0");
    let mut queues: Vec<QueueInfo> = Vec::new();
    for _ in 0..PAGES {
        let last = queues.last().map(|queue| queue.name.clone());
        let more = web.backend.queues(last.as_ref(), page).await?;
        let is_last = more.len() < page.get();
        queues.extend(more);
        if is_last {
            break;
        }
    }
    Ok(queues)
}

fn render(queues: &[QueueInfo]) -> String {
    let mut out = String::from("# TYPE queue_kit_messages gauge\n");
    for queue in queues {
        let Some(state) = queue.state else { continue };
        let depth = state.depth;
        for (place, count) in [
            ("ready", depth.ready),
            ("delayed", depth.delayed),
            ("leased", depth.leased),
            ("dead", depth.dead),
        ] {
            let _ = writeln!(
                out,
                "queue_kit_messages{{queue=\"{}\",state=\"{place}\"}} {count}",
                queue.name
            );
        }
    }
    out.push_str("# TYPE queue_kit_paused gauge\n");
    for queue in queues {
        if let Some(state) = queue.state {
            let _ = writeln!(
                out,
                "queue_kit_paused{{queue=\"{}\"}} {}",
                queue.name,
                u8::from(state.paused)
            );
        }
    }
    out
}

/// The messages that want a consumer now: ready and leased ones. One number, for autoscalers.
pub(super) async fn scale(State(web): State<Web>, Path(queue): Path<String>) -> Response {
    let wanted = async {
        let depth = leasing(&web, &name(&queue)?).await?.depth().await?;
        Ok::<_, Error>(depth.ready + depth.leased)
    };
    match wanted.await {
        Ok(wanted) => wanted.to_string().into_response(),
        Err(error) => {
            let failed = Failed(error);
            (failed.status(), failed.0.to_string()).into_response()
        }
    }
}

/// Whether the backend answers.
pub(super) async fn ready(State(web): State<Web>) -> (StatusCode, String) {
    match web.backend.now().await {
        Ok(_) => (StatusCode::OK, "ready".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
