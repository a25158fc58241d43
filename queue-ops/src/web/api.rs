//! The same as JSON.

use std::num::NonZeroUsize;

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use queue_core::{Error, LeasingExt, MessageId, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Web,
    pages::{leasing, name},
    show::Failed,
};
use crate::diagnose;

type Answer = Result<Json<Value>, (StatusCode, Json<Value>)>;

fn answer(called: Result<impl Serialize, Error>) -> Answer {
    called.map(|value| Json(json!(value))).map_err(|error| {
        let failed = Failed(error);
        (
            failed.status(),
            Json(json!({ "error": failed.0.to_string() })),
        )
    })
}

#[derive(Deserialize)]
pub(super) struct After {
    after: Option<String>,
}

pub(super) async fn queues(State(web): State<Web>, Query(After { after }): Query<After>) -> Answer {
    let page = NonZeroUsize::new(limits::MAX_PAGE).expect("more than 0");
    let after = after.as_deref().map(name).transpose();
    match after {
        Ok(after) => answer(web.backend.queues(after.as_ref(), page).await),
        Err(error) => answer(Err::<(), _>(error)),
    }
}

pub(super) async fn queue(State(web): State<Web>, Path(queue): Path<String>) -> Answer {
    answer(diagnose(&*web.backend, &queue).await)
}

pub(super) async fn message(
    State(web): State<Web>,
    Path((queue, id)): Path<(String, MessageId)>,
) -> Answer {
    let found = async { leasing(&web, &name(&queue)?).await?.find_one(id).await };
    answer(found.await)
}
