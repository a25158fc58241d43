//! Numbers for machines: Prometheus, autoscalers, probes.

use std::fmt::Write;

use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{Error, QueueInfo};

use super::{Web, pages::name, show::Failed};
use crate::{list_queues, open::open_leasing};

/// Pages of queues that are exported.
const PAGES: usize = 10;

/// The gauges of all queues, under the names that workers use, whether a worker runs or not.
pub(super) async fn metrics(State(web): State<Web>) -> Response {
    match list_queues(&*web.backend, PAGES).await {
        Ok(queues) => (
            [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
            render(&queues),
        )
            .into_response(),
        Err(error) => Failed(error).as_text(),
    }
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
