//! The same as JSON.

use std::num::NonZeroUsize;

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use queue_core::{Cursor, Error, LeasingExt, Page};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Web,
    asked::{After, InQueue, OfMessage, ROWS, name},
    show::Failed,
};
use crate::{diagnose, family, found_as_json, group_as_json, open::open_leasing, open_grouped};

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

pub(super) async fn queue(
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
) -> Answer {
    answer(diagnose(&*web.backend, &queue).await)
}

pub(super) async fn groups(
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Query(After { after }): Query<After<u64>>,
) -> Answer {
    let listed = async {
        let asked = match after {
            Some(after) => Page::after(Cursor::new(after), ROWS),
            None => Page::first(ROWS),
        };
        let grouped = open_grouped(&*web.backend, &name(&queue)?).await?;
        let page = grouped.groups(asked).await?;
        let groups: Vec<Value> = page.entries.iter().map(group_as_json).collect();
        Ok(json!({ "groups": groups, "next": page.next.map(Cursor::get) }))
    };
    answer(listed.await)
}

pub(super) async fn message(
    State(web): State<Web>,
    Path(OfMessage { queue, id }): Path<OfMessage>,
) -> Answer {
    let found = async {
        let leasing = open_leasing(&*web.backend, &name(&queue)?).await?;
        let found = leasing.find_one(id).await?;
        let family = family(&*web.backend, &*leasing, id, &found).await;
        Ok(found_as_json(&found, &family))
    };
    answer(found.await)
}
