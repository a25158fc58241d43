//! The same as JSON.

use std::num::NonZeroUsize;

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use queue_core::{Error, LeasingExt, MessageId};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Web,
    pages::{After, ROWS, name},
    show::Failed,
};
use crate::{diagnose, open::open_leasing};

pub(super) type Answer = Result<Json<Value>, (StatusCode, Json<Value>)>;

pub(super) fn answer(called: Result<impl Serialize, Error>) -> Answer {
    called.map(|value| Json(json!(value))).map_err(|error| {
        let failed = Failed(error);
        (
            failed.status(),
            Json(json!({ "error": failed.0.to_string() })),
        )
    })
}

pub(super) async fn queues(
    State(web): State<Web>,
    Query(After { after }): Query<After<String>>,
) -> Answer {
    let listed = async {
        let page = NonZeroUsize::new(ROWS).expect("more than 0");
        let after = after.as_deref().map(name).transpose()?;
        web.backend.queues(after.as_ref(), page).await
    };
    answer(listed.await)
}

pub(super) async fn queue(State(web): State<Web>, Path(queue): Path<String>) -> Answer {
    answer(diagnose(&*web.backend, &queue).await)
}

pub(super) async fn message(
    State(web): State<Web>,
    Path((queue, id)): Path<(String, MessageId)>,
) -> Answer {
    let found = async {
        open_leasing(&*web.backend, &name(&queue)?)
            .await?
            .find_one(id)
            .await
    };
    answer(found.await)
}
