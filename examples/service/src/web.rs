//! The endpoints.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, get, post},
};
use metrics_exporter_prometheus::PrometheusHandle;
use queue_kit::{
    Delay, ErrorKind, Grouped, Jobs, LeasingExt, MessageId, Page, Revival, limits, worker::Health,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::jobs::{CancelUnpaid, Export, Mail};

/// The queues, the health of their workers, and the metrics.
pub(crate) type Service = (Delay<Jobs>, Grouped<Mail>, [Health; 2], PrometheusHandle);
type It = State<Service>;
type Reply = Result<Json<Value>, (StatusCode, String)>;

pub(crate) fn endpoints(service: Service) -> Router {
    Router::new()
        .route("/orders", post(order))
        .route("/exports", post(export))
        .route("/mails", post(mail))
        .route("/jobs/{id}", delete(cancel).get(status))
        .route("/jobs/{id}/result", get(result))
        .route("/dead", get(dead))
        .route("/dead/{id}/revive", post(revive))
        .route("/health", get(health))
        .route(
            "/metrics",
            get(async |State((.., metrics)): It| metrics.render()),
        )
        .with_state(service)
}

fn reply(called: queue_kit::Result<impl Serialize>) -> Reply {
    called.map(|value| Json(json!(value))).map_err(|error| {
        let status = match error.kind() {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Unavailable | ErrorKind::OutOfMemory => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, error.to_string())
    })
}

/// One job for an order while it is open, so a client that missed the answer may ask again.
async fn order(State((jobs, ..)): It, Json(job): Json<CancelUnpaid>) -> Reply {
    let message = jobs
        .message(&job)
        .delay(Duration::from_secs(job.unpaid_seconds));
    let message = message.unique(format!("order-{}", job.order), limits::MAX_UNIQUE);
    reply(message.send().await.map(|pushed| pushed.id()))
}

async fn export(State((jobs, ..)): It, Json(job): Json<Export>) -> Reply {
    reply(jobs.push(&job, Duration::ZERO).await)
}

/// The customer is the group, so one mail of each is under way, and a customer with many mails delays no other.
async fn mail(State((_, mails, ..)): It, Json(mail): Json<Mail>) -> Reply {
    reply(mails.push(&mail, mail.customer.to_string()).await)
}

async fn status(State((jobs, ..)): It, Path(id): Path<MessageId>) -> Reply {
    reply(jobs.find(id).await)
}

async fn result(State((jobs, ..)): It, Path(id): Path<MessageId>) -> Reply {
    reply(
        jobs.wait_for_result::<Value>(id, Duration::from_secs(20))
            .await,
    )
}

async fn cancel(State((jobs, ..)): It, Path(id): Path<MessageId>) -> Reply {
    reply(jobs.queue().cancel_one(id).await)
}

async fn dead(State((jobs, ..)): It) -> Reply {
    let dead = jobs.queue().dead_letters(Page::first(100)).await;
    reply(dead.map(|page| {
        page.entries
            .iter()
            .map(|l| (l.id, l.why()))
            .collect::<Vec<_>>()
    }))
}

async fn revive(State((jobs, ..)): It, Path(id): Path<MessageId>) -> Reply {
    reply(jobs.queue().revive(&[id], Revival::WithState).await)
}

async fn health(State((.., health, _)): It) -> (StatusCode, Json<Value>) {
    let [jobs, mails] = health.map(|worker| worker.is_healthy());
    let status = match jobs && mails {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(json!({ "jobs": jobs, "mails": mails })))
}
