//! The actions of operators. Each is written down, also if it fails.

use axum::{
    Form, Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{
    Error, Leasing, LeasingExt, MessageId, Page, QueueName, Receipt, Settlement, Token, limits,
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Web,
    api::{Answer, answer},
    audit::AuditEntry,
    groups,
    guard::Operator,
    pages::name,
    show::Failed,
};
use crate::{ids_of_failure, open::open_leasing};

/// An action, as a form or as JSON.
#[derive(Debug, Deserialize)]
pub(super) struct Action {
    action: String,
    /// Of an action on a leased message: the token of its lease.
    token: Option<u64>,
    /// Of an action on a group: its key.
    group: Option<String>,
    /// Of an action on dead letters: the failure that they have in common.
    fingerprint: Option<String>,
    /// Of an action on a message, by the API.
    id: Option<MessageId>,
}

type Done = Result<Response, Failed>;

/// Back to the page that the form was on.
fn back(to: String) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

pub(super) async fn on_queue(
    operator: Operator,
    State(web): State<Web>,
    Path(queue): Path<String>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back(queue.to_string()))
}

pub(super) async fn on_dead(
    operator: Operator,
    State(web): State<Web>,
    Path(queue): Path<String>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back("dead".to_owned()))
}

pub(super) async fn on_groups(
    operator: Operator,
    State(web): State<Web>,
    Path(queue): Path<String>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back("groups".to_owned()))
}

pub(super) async fn on_message(
    operator: Operator,
    State(web): State<Web>,
    Path((queue, id)): Path<(String, MessageId)>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, Some(id), &action).await?;
    Ok(back(id.to_string()))
}

pub(super) async fn by_api(
    operator: Operator,
    State(web): State<Web>,
    Path(queue): Path<String>,
    Json(action): Json<Action>,
) -> Answer {
    let done = async { web.act(&operator, &name(&queue)?, action.id, &action).await };
    answer(done.await.map(|outcome| json!({ "outcome": outcome })))
}

impl Web {
    /// Does an action, and writes it down. Returns its outcome.
    async fn act(
        &self,
        operator: &Operator,
        queue: &QueueName,
        id: Option<MessageId>,
        action: &Action,
    ) -> Result<String, Error> {
        let done = self.try_to_act(queue, id, action).await;
        let message = id.map(|id| format!(" #{id}")).unwrap_or_default();
        let group = action
            .fingerprint
            .as_ref()
            .or(action.group.as_ref())
            .map(|group| format!(" '{group}'"))
            .unwrap_or_default();
        let what = format!("{} {queue}{message}{group}", action.action);
        self.note(operator, what, &done).await;
        done
    }

    /// Writes an action down.
    pub(super) async fn note(&self, _: &Operator, action: String, done: &Result<String, Error>) {
        let outcome = match done {
            Ok(outcome) => outcome.clone(),
            Err(error) => error.to_string(),
        };
        let at = self.backend.now().await.unwrap_or_default();
        let entry = AuditEntry::new(at, action, outcome);
        if let Some(on_action) = &self.on_action {
            on_action(&entry);
        }
        self.audit.note(entry);
    }

    async fn try_to_act(
        &self,
        queue: &QueueName,
        id: Option<MessageId>,
        action: &Action,
    ) -> Result<String, Error> {
        if let Some(group) = &action.group {
            return groups::change(self, queue, &action.action, group).await;
        }
        let leasing = open_leasing(&*self.backend, queue).await?;
        match (&*action.action, id, action.token) {
            ("pause", None, _) => leasing.pause().await.map(|()| "paused".to_owned()),
            ("resume", None, _) => leasing.resume().await.map(|()| "resumed".to_owned()),
            ("cancel", Some(id), _) => Ok(format!("{:?}", leasing.cancel_one(id).await?)),
            ("revive", Some(id), _) => Ok(format!("{:?}", leasing.revive(&[id]).await?)),
            ("discard", Some(id), _) => Ok(format!("{} discarded", leasing.discard(&[id]).await?)),
            ("release", Some(id), Some(token)) => {
                let receipt = Receipt {
                    id,
                    token: Token::new(token),
                };
                let settled = leasing.settle_one(Settlement::release(receipt)).await?;
                Ok(format!("{settled:?}"))
            }
            (verb @ ("revive" | "discard"), None, _) => {
                let Some(group) = &action.fingerprint else {
                    return Err(Error::invalid(format!(
                        "{verb} which dead letters? Name an id, or a fingerprint"
                    )));
                };
                on_group(&*leasing, verb, group).await
            }
            (other, ..) => Err(Error::invalid(format!("there is no action `{other}` here"))),
        }
    }
}

/// Revives or discards the dead letters of a failure: those of the first page, so that no action takes long.
async fn on_group(leasing: &dyn Leasing, verb: &str, group: &str) -> Result<String, Error> {
    let letters = leasing.dead_letters(Page::first(limits::MAX_PAGE)).await?;
    let ids = ids_of_failure(&letters.entries, group);
    let mut done = 0;
    for ids in ids.chunks(limits::MAX_BATCH) {
        done += match verb {
            "revive" => {
                let revived = leasing.revive(ids).await?;
                revived
                    .iter()
                    .filter(|one| **one == queue_core::Revived::Revived)
                    .count() as u64
            }
            _ => leasing.discard(ids).await?,
        };
    }
    let more = if letters.next.is_some() {
        "; there may be more: repeat it"
    } else {
        ""
    };
    Ok(format!("{done} of {} done{more}", ids.len()))
}
